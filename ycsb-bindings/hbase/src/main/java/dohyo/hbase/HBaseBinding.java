package dohyo.hbase;

import dohyo.binding.Binding;
import dohyo.binding.Columns;
import dohyo.binding.Outcome;
import dohyo.binding.Row;
import dohyo.binding.RowSink;
import dohyo.binding.Settings;
import dohyo.binding.Shared;
import dohyo.binding.Transport;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Durability;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.util.Bytes;
import site.ycsb.DBException;
import site.ycsb.Status;

/**
 * Binding for Apache HBase through its asynchronous client. A batch is one multi-put or multi-get, and each record has
 * its own status. The client buffers nothing, so a status is always the server's answer.
 */
public final class HBaseBinding extends Binding {
  /** Number of rows per page of a scan, which limits the size of a response. */
  private static final int SCAN_PAGE = 1000;

  private static final Shared<HBaseConnection> CONNECTION = new Shared<>(HBaseConnection::new);

  private final Map<Columns, Qualifiers> encoded = new ConcurrentHashMap<>();
  private HBaseConnection connection;
  private byte[] family;
  private Durability durability;

  /** Encoded column names, in the order of the values and in sorted order. */
  private record Qualifiers(byte[][] inOrder, NavigableSet<byte[]> sorted) {
    static Qualifiers of(Columns columns) {
      byte[][] names = columns.names().stream().map(Bytes::toBytes).toArray(byte[][]::new);
      NavigableSet<byte[]> sorted = new TreeSet<>(Bytes.BYTES_COMPARATOR);
      sorted.addAll(List.of(names));
      return new Qualifiers(names, sorted);
    }
  }

  @Override
  public String[] loops(Settings settings) {
    return new String[] {"events", "threads"};
  }

  @Override
  protected void connect(Settings settings) throws DBException {
    family = settings.text("columnfamily", "family").getBytes(StandardCharsets.UTF_8);
    durability = Durability.valueOf(settings.choice("durability",
        "USE_DEFAULT", "SKIP_WAL", "ASYNC_WAL", "SYNC_WAL", "FSYNC_WAL"));
    connection = CONNECTION.open(settings);
  }

  @Override
  protected void disconnect() {
    if (connection != null) {
      connection = null;
      CONNECTION.release();
    }
  }

  @Override
  public Optional<Transport> transport() {
    return Optional.ofNullable(connection);
  }

  @Override
  public Status failed(Throwable error) {
    return Outcome.of(Retries.cause(error));
  }

  @Override
  public CompletableFuture<Status> readRow(String table, byte[] key, Columns columns, RowSink sink) {
    return send(() -> connection.table(table).get(get(key, columns)).thenApply(found -> emit(found, 0, sink)));
  }

  @Override
  public CompletableFuture<Status> insertRow(Row row) {
    return send(() -> connection.table(row.table()).put(put(row)).thenApply(done -> Status.OK));
  }

  @Override
  public CompletableFuture<Status> updateRow(Row row) {
    return insertRow(row);
  }

  @Override
  public CompletableFuture<Status> deleteRow(String table, byte[] key) {
    return send(() -> connection.table(table).delete(new Delete(key).setDurability(durability))
        .thenApply(done -> Status.OK));
  }

  @Override
  public CompletableFuture<Status> scanRows(String table, byte[] key, int count, Columns columns, RowSink sink) {
    return send(() -> {
      Scan scan = new Scan().withStartRow(key).setLimit(count).setCaching(Math.min(count, SCAN_PAGE));
      scan.getFamilyMap().put(family, wanted(columns));
      return connection.table(table).scanAll(scan).thenApply(found -> {
        for (int i = 0; i < found.size(); i++) {
          emit(found.get(i), i, sink);
        }
        return Status.OK;
      });
    });
  }

  @Override
  public CompletableFuture<Status[]> readRows(String table, List<byte[]> keys, Columns columns, RowSink sink) {
    try {
      List<Get> gets = new ArrayList<>(keys.size());
      for (byte[] key : keys) {
        gets.add(get(key, columns));
      }
      return send(gets, some -> connection.table(table).get(some), (i, found) -> emit(found, i, sink));
    } catch (IllegalArgumentException e) {
      return super.readRows(table, keys, columns, sink);
    }
  }

  @Override
  public CompletableFuture<Status[]> insertRows(List<Row> rows) {
    try {
      List<Put> puts = new ArrayList<>(rows.size());
      for (Row row : rows) {
        puts.add(put(row));
      }
      return send(puts, some -> connection.table(rows.get(0).table()).put(some), (i, done) -> Status.OK);
    } catch (IllegalArgumentException e) {
      // Send the records one by one: the driver rejects a whole batch if only one of its records is too large.
      return super.insertRows(rows);
    }
  }

  @Override
  public CompletableFuture<Status[]> updateRows(List<Row> rows) {
    return insertRows(rows);
  }

  private Get get(byte[] key, Columns columns) {
    Get get = new Get(key);
    get.getFamilyMap().put(family, wanted(columns));
    return get;
  }

  private Put put(Row row) {
    Put put = new Put(row.key(), true);
    byte[][] names = encoded(row.columns()).inOrder();
    for (int i = 0; i < names.length; i++) {
      put.addColumn(family, names[i], row.values()[i]);
    }
    put.setDurability(durability);
    return put;
  }

  private Qualifiers encoded(Columns columns) {
    Qualifiers known = encoded.get(columns);
    return known != null ? known : encoded.computeIfAbsent(columns, Qualifiers::of);
  }

  /** Returns the columns to read, or {@code null} for the whole family. Requests share the set and do not change it. */
  private NavigableSet<byte[]> wanted(Columns columns) {
    return columns == null ? null : encoded(columns).sorted();
  }

  private CompletableFuture<Status> send(Supplier<CompletableFuture<Status>> request) {
    return guarded(() -> connection.requests().begin().send(request));
  }

  /** Sends a batch. Each record has its own status. */
  private <Q, T> CompletableFuture<Status[]> send(List<Q> batch, Function<List<Q>, List<CompletableFuture<T>>> verb,
      BiFunction<Integer, T, Status> decode) {
    Status[] statuses = new Status[batch.size()];
    return send(IntStream.range(0, statuses.length).boxed().toList(), batch, verb, decode, statuses,
        connection.requests().begin()).thenApply(done -> statuses);
  }

  /** Sends those records of a batch that have these indexes. Retries the failed records together, in one batch. */
  private <Q, T> CompletableFuture<Void> send(List<Integer> places, List<Q> batch,
      Function<List<Q>, List<CompletableFuture<T>>> verb, BiFunction<Integer, T, Status> decode, Status[] statuses,
      Retries.Tries tries) {
    List<Integer> again = new ArrayList<>();
    return gather(verb.apply(places.stream().map(batch::get).toList()), (i, found, failure) -> {
      int place = places.get(i);
      if (failure == null) {
        statuses[place] = decode.apply(place, found);
      } else if (tries.allow(failure)) {
        again.add(place);
      } else {
        statuses[place] = failed(failure);
      }
    }).thenCompose(done -> again.isEmpty() ? CompletableFuture.completedFuture(null)
        : tries.retry(() -> send(again, batch, verb, decode, statuses, tries)));
  }

  private static Status emit(Result found, int row, RowSink sink) {
    if (found.isEmpty()) {
      return Status.NOT_FOUND;
    }
    if (sink != RowSink.DISCARD) {
      for (Cell cell : found.rawCells()) {
        String column = Bytes.toString(
            cell.getQualifierArray(), cell.getQualifierOffset(), cell.getQualifierLength());
        sink.field(row, column,
            ByteBuffer.wrap(cell.getValueArray(), cell.getValueOffset(), cell.getValueLength()).slice());
      }
    }
    return Status.OK;
  }
}
