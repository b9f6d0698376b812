package dohyo.aerospike;

import dohyo.binding.Binding;
import dohyo.binding.Columns;
import dohyo.binding.Row;
import dohyo.binding.RowSink;
import dohyo.binding.SettingException;
import dohyo.binding.Settings;
import dohyo.binding.Shared;
import dohyo.binding.Transport;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import site.ycsb.DBException;
import site.ycsb.Status;

/**
 * Binding for Aerospike through its own client. A table is a set of the namespace. A batch is one request per node, and
 * each record has its own status. An insert is an upsert, as in the other bindings. An update of a record that does not
 * exist is {@link Status#NOT_FOUND}. Errors are named after the driver's result codes.
 *
 * <p>{@code aerospike.layout=bins} (default) stores each field as a bin. {@code packed=N} packs about N records into
 * one, see {@link Packed}.
 */
public final class AerospikeBinding extends Binding {
  private static final Shared<AerospikeConnection> CONNECTION = new Shared<>(AerospikeConnection::new);
  private static final Pattern PACKED = Pattern.compile("packed=([1-9][0-9]{0,3})");

  private AerospikeConnection connection;
  private Layout layout;

  @Override
  public String[] loops(Settings settings) {
    // With either loop, each command in flight needs a connection. If only one is in flight, a thread that waits on its
    // socket is fastest.
    return settings.number("inflight", 1, 1, Integer.MAX_VALUE) == 1 ? new String[] {"threads", "events"}
        : new String[] {"events", "threads"};
  }

  @Override
  public Map<String, String> strongestReads(Settings settings) {
    // aerospike.screadmode applies to namespaces with strong-consistency, aerospike.readmode to all others.
    return Map.of("aerospike.readmode", "ALL", "aerospike.screadmode", "LINEARIZE");
  }

  @Override
  protected void connect(Settings settings) throws DBException {
    String wanted = settings.text("aerospike.layout", "bins");
    Matcher packed = PACKED.matcher(wanted);
    if (!packed.matches() && !wanted.equals("bins")) {
      throw new SettingException("aerospike.layout=" + wanted + ": must be bins, or packed=N with N from 1 to 9999");
    }
    Packing packing = packed.matches() ? new Packing(Integer.parseInt(packed.group(1)), settings) : null;
    String namespace = settings.text("aerospike.namespace", "ycsb");
    connection = CONNECTION.open(settings);
    layout = packing == null ? new Bins(connection, namespace, settings) : new Packed(connection, namespace, packing);
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
    return ResultCodes.status(error);
  }

  @Override
  public void readRow(String table, byte[] key, Columns columns, RowSink sink,
      BiConsumer<Status, Throwable> answered) {
    layout.read(table, key, columns, sink, answered);
  }

  @Override
  public void insertRow(Row row, BiConsumer<Status, Throwable> answered) {
    layout.write(row, true, answered);
  }

  @Override
  public void updateRow(Row row, BiConsumer<Status, Throwable> answered) {
    layout.write(row, false, answered);
  }

  @Override
  public CompletableFuture<Status> readRow(String table, byte[] key, Columns columns, RowSink sink) {
    return future(answered -> readRow(table, key, columns, sink, answered));
  }

  @Override
  public CompletableFuture<Status> insertRow(Row row) {
    return future(answered -> insertRow(row, answered));
  }

  @Override
  public CompletableFuture<Status> updateRow(Row row) {
    return future(answered -> updateRow(row, answered));
  }

  @Override
  public CompletableFuture<Status> deleteRow(String table, byte[] key) {
    return guarded(() -> layout.delete(table, key));
  }

  @Override
  public CompletableFuture<Status> scanRows(String table, byte[] key, int count, Columns columns, RowSink sink) {
    return guarded(() -> layout.scan(table, key, count, columns, sink));
  }

  @Override
  public CompletableFuture<Status[]> readRows(String table, List<byte[]> keys, Columns columns, RowSink sink) {
    return guarded(() -> layout.read(table, keys, columns, sink));
  }

  @Override
  public CompletableFuture<Status[]> insertRows(List<Row> rows) {
    return guarded(() -> layout.write(rows, true));
  }

  @Override
  public CompletableFuture<Status[]> updateRows(List<Row> rows) {
    return guarded(() -> layout.write(rows, false));
  }
}
