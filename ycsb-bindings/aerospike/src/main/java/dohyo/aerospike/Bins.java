package dohyo.aerospike;

import com.aerospike.client.BatchRead;
import com.aerospike.client.BatchRecord;
import com.aerospike.client.BatchWrite;
import com.aerospike.client.Bin;
import com.aerospike.client.Key;
import com.aerospike.client.Operation;
import com.aerospike.client.Record;
import com.aerospike.client.ResultCode;
import com.aerospike.client.policy.BatchWritePolicy;
import com.aerospike.client.policy.RecordExistsAction;
import com.aerospike.client.policy.WritePolicy;
import dohyo.binding.Columns;
import dohyo.binding.Row;
import dohyo.binding.RowSink;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import site.ycsb.Status;

/** {@code bins}: a record is a record, and each field a bin of it, so that a field is written without the others. */
final class Bins implements Layout {
  private final Commands commands;
  private final String namespace;
  private final WritePolicy insert;
  private final WritePolicy update;
  private final BatchWritePolicy batchInsert = new BatchWritePolicy();
  private final BatchWritePolicy batchUpdate = new BatchWritePolicy();

  Bins(Commands commands, String namespace) {
    this.commands = commands;
    this.namespace = namespace;
    insert = commands.writePolicy(RecordExistsAction.UPDATE);
    // REPLACE_ONLY would drop the bins that are not written.
    update = commands.writePolicy(RecordExistsAction.UPDATE_ONLY);
    batchInsert.commitLevel = commands.commitLevel();
    batchUpdate.commitLevel = commands.commitLevel();
    batchUpdate.recordExistsAction = RecordExistsAction.UPDATE_ONLY;
  }

  @Override
  public CompletableFuture<Status> read(String table, byte[] key, Columns columns, RowSink sink) {
    return commands.get(key(table, key), names(columns)).thenApply(found -> hand(found, 0, sink));
  }

  @Override
  public CompletableFuture<Status> write(Row row, boolean create) {
    List<String> names = row.columns().names();
    Bin[] bins = new Bin[names.size()];
    for (int i = 0; i < bins.length; i++) {
      bins[i] = new Bin(names.get(i), row.values()[i]);
    }
    return commands.put(create ? insert : update, key(row.table(), row.key()), bins).thenApply(done -> Status.OK);
  }

  @Override
  public CompletableFuture<Status> delete(String table, byte[] key) {
    return commands.delete(insert, key(table, key)).thenApply(existed -> existed ? Status.OK : Status.NOT_FOUND);
  }

  @Override
  public CompletableFuture<Status> scan(String table, byte[] key, int count, Columns columns, RowSink sink) {
    long deadline = commands.deadline();
    Key start = key(table, key);
    int[] taken = {0};
    return commands.get(start, names(columns)).thenCompose(first -> {
      if (hand(first, 0, sink).isOk()) {
        taken[0]++;
      }
      return new Scan(commands, start, names(columns), count - taken[0], found -> {
        hand(found, taken[0]++, sink);
        return count - taken[0];
      }, deadline).run();
    }).thenApply(done -> Status.OK);
  }

  @Override
  public CompletableFuture<Status[]> read(String table, List<byte[]> keys, Columns columns, RowSink sink) {
    String[] names = names(columns);
    List<BatchRead> batch = new ArrayList<>(keys.size());
    for (byte[] key : keys) {
      batch.add(names == null ? new BatchRead(key(table, key), true) : new BatchRead(key(table, key), names));
    }
    return commands.read(batch).thenApply(records -> {
      Status[] statuses = statuses(records);
      for (int i = 0; i < statuses.length; i++) {
        if (statuses[i].isOk()) {
          hand(records.get(i).record, i, sink);
        }
      }
      return statuses;
    });
  }

  @Override
  public CompletableFuture<Status[]> write(List<Row> rows, boolean create) {
    List<BatchWrite> batch = new ArrayList<>(rows.size());
    for (Row row : rows) {
      List<String> names = row.columns().names();
      Operation[] puts = new Operation[names.size()];
      for (int i = 0; i < puts.length; i++) {
        puts[i] = Operation.put(new Bin(names.get(i), row.values()[i]));
      }
      batch.add(new BatchWrite(create ? batchInsert : batchUpdate, key(row.table(), row.key()), puts));
    }
    return commands.write(batch).thenApply(Bins::statuses);
  }

  private Key key(String table, byte[] key) {
    return new Key(namespace, table, key);
  }

  private static String[] names(Columns columns) {
    return columns == null ? null : columns.names().toArray(String[]::new);
  }

  static Status[] statuses(List<? extends BatchRecord> records) {
    Status[] statuses = new Status[records.size()];
    for (int i = 0; i < statuses.length; i++) {
      int code = records.get(i).resultCode;
      statuses[i] = code == ResultCode.OK ? Status.OK : ResultCodes.status(code);
    }
    return statuses;
  }

  private static Status hand(Record found, int row, RowSink sink) {
    if (found == null) {
      return Status.NOT_FOUND;
    }
    if (sink != RowSink.DISCARD && found.bins != null) {
      for (Map.Entry<String, Object> bin : found.bins.entrySet()) {
        sink.field(row, bin.getKey(), ByteBuffer.wrap((byte[]) bin.getValue()));
      }
    }
    return Status.OK;
  }
}
