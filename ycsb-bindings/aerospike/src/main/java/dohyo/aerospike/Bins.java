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
import dohyo.binding.Binding;
import dohyo.binding.Columns;
import dohyo.binding.Row;
import dohyo.binding.RowSink;
import dohyo.binding.Settings;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import java.util.stream.IntStream;
import site.ycsb.Status;

/**
 * Layout {@code bins}: each record is a record of Aerospike, and each field a bin. Single fields can be written. A
 * write of all fields of the table ({@code fieldcount}, {@code fieldnameprefix}) replaces the record without reading it
 * first. Any other write keeps the bins that it does not contain.
 */
final class Bins implements Layout {
  private final AerospikeConnection connection;
  private final String namespace;
  private final Columns all;
  private final Map<RecordExistsAction, WritePolicy> singles = new EnumMap<>(RecordExistsAction.class);
  private final Map<RecordExistsAction, BatchWritePolicy> batches = new EnumMap<>(RecordExistsAction.class);

  Bins(AerospikeConnection connection, String namespace, Settings settings) {
    this.connection = connection;
    this.namespace = namespace;
    String prefix = settings.text("fieldnameprefix", "field");
    all = Columns.of(IntStream.range(0, settings.number("fieldcount", 10, 1, 10_000)).mapToObj(i -> prefix + i)
        .toList());
    for (RecordExistsAction action : RecordExistsAction.values()) {
      singles.put(action, connection.writePolicy(action));
      BatchWritePolicy policy = new BatchWritePolicy();
      policy.commitLevel = connection.commitLevel();
      policy.recordExistsAction = action;
      batches.put(action, policy);
    }
  }

  private RecordExistsAction action(Row row, boolean create) {
    if (row.columns().equals(all)) {
      return create ? RecordExistsAction.REPLACE : RecordExistsAction.REPLACE_ONLY;
    }
    return create ? RecordExistsAction.UPDATE : RecordExistsAction.UPDATE_ONLY;
  }

  @Override
  public void read(String table, byte[] key, Columns columns, RowSink sink, BiConsumer<Status, Throwable> answered) {
    connection.get(key(table, key), names(columns), found -> emit(found, 0, sink), answered);
  }

  @Override
  public void write(Row row, boolean create, BiConsumer<Status, Throwable> answered) {
    List<String> names = row.columns().names();
    Bin[] bins = new Bin[names.size()];
    for (int i = 0; i < bins.length; i++) {
      bins[i] = new Bin(names.get(i), row.values()[i]);
    }
    connection.put(singles.get(action(row, create)), key(row.table(), row.key()), bins, answered);
  }

  @Override
  public CompletableFuture<Status> delete(String table, byte[] key) {
    return Binding.future(answered ->
        connection.delete(singles.get(RecordExistsAction.UPDATE), key(table, key), answered));
  }

  @Override
  public CompletableFuture<Status> scan(String table, byte[] key, int count, Columns columns, RowSink sink) {
    long deadline = connection.deadline();
    Key start = key(table, key);
    int[] taken = {0};
    return connection.get(start, names(columns)).thenCompose(first -> {
      if (emit(first, 0, sink).isOk()) {
        taken[0]++;
      }
      return new Scan(connection, start, names(columns), count - taken[0], found -> {
        emit(found, taken[0]++, sink);
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
    return connection.read(batch).thenApply(records -> {
      Status[] statuses = statuses(records);
      for (int i = 0; i < statuses.length; i++) {
        if (statuses[i].isOk()) {
          emit(records.get(i).record, i, sink);
        }
      }
      return statuses;
    });
  }

  @Override
  public CompletableFuture<Status[]> write(List<Row> rows, boolean create) {
    List<BatchWrite> writes = new ArrayList<>(rows.size());
    for (Row row : rows) {
      List<String> names = row.columns().names();
      Operation[] puts = new Operation[names.size()];
      for (int i = 0; i < puts.length; i++) {
        puts[i] = Operation.put(new Bin(names.get(i), row.values()[i]));
      }
      writes.add(new BatchWrite(batches.get(action(row, create)), key(row.table(), row.key()), puts));
    }
    return connection.write(writes).thenApply(Bins::statuses);
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

  private static Status emit(Record found, int row, RowSink sink) {
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
