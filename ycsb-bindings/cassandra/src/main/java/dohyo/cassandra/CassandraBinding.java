package dohyo.cassandra;

import com.datastax.driver.core.BatchStatement;
import com.datastax.driver.core.BoundStatement;
import com.datastax.driver.core.Cluster;
import com.datastax.driver.core.ColumnDefinitions;
import com.datastax.driver.core.ResultSet;
import com.datastax.driver.core.Statement;
import dohyo.binding.Binding;
import dohyo.binding.Columns;
import dohyo.binding.KeyColumns;
import dohyo.binding.Outcome;
import dohyo.binding.Row;
import dohyo.binding.RowSink;
import dohyo.binding.SettingException;
import dohyo.binding.Settings;
import dohyo.binding.Shared;
import dohyo.binding.Transport;
import dohyo.cassandra.CassandraConnection.Template;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import site.ycsb.DBException;
import site.ycsb.Status;

/**
 * Binding for Apache Cassandra. It prepares each CQL statement once. With {@code cassandra.statements=text} the server
 * parses each request, and the driver cannot choose a node that has the record. Keys and values are sent as raw bytes,
 * so columns may be {@code text} or {@code blob}. The partition key is called {@code y_id}, as in stock YCSB.
 *
 * <p>With {@code keycolumns} the table has the key's columns. The columns that select the partition are the partition
 * key, and the others are clustering columns. A scan stays within its partition.
 *
 * <p>{@code cassandra.batchmode=async} (default) sends the statements of a batch concurrently. {@code unlogged} and
 * {@code logged} send one CQL batch, with one status for all records. {@code cassandra.batchread=async} (default) sends
 * concurrent reads. {@code in} sends one {@code SELECT … IN}, which requires a key of one column.
 */
public class CassandraBinding extends Binding {
  /** Number of rows per page of a scan, which limits the size of a response. */
  private static final int SCAN_PAGE = 1000;
  /** Page size that turns paging off, so that all rows of a read are in one response. */
  private static final int UNPAGED = Integer.MAX_VALUE;

  private static final Shared<CassandraConnection> CONNECTION = new Shared<>(
      settings -> new CassandraConnection(settings, Cluster.builder()));

  private final Shared<CassandraConnection> shared;
  private CassandraConnection connection;
  private KeyColumns keyColumns;
  private BatchStatement.Type batchType;
  private boolean batchReads;

  public CassandraBinding() {
    this(CONNECTION);
  }

  /**
   * Creates a binding for a product that speaks CQL and has its own driver with the same API.
   *
   * @param shared the process's connection, configured for that driver
   */
  protected CassandraBinding(Shared<CassandraConnection> shared) {
    this.shared = shared;
  }

  @Override
  public String[] loops(Settings settings) {
    return new String[] {"events", "threads"};
  }

  @Override
  public Map<String, String> strongestReads(Settings settings) {
    return Map.of("cassandra.readconsistencylevel", "ALL");
  }

  @Override
  protected void connect(Settings settings) throws DBException {
    keyColumns = KeyColumns.of(settings, Query.KEY);
    batchType = switch (settings.choice("cassandra.batchmode", "async", "unlogged", "logged")) {
      case "unlogged" -> BatchStatement.Type.UNLOGGED;
      case "logged" -> BatchStatement.Type.LOGGED;
      default -> null;
    };
    batchReads = settings.choice("cassandra.batchread", "async", "in").equals("in");
    if (batchReads && keyColumns.several()) {
      throw new SettingException("cassandra.batchread=in: IN cannot read keys of several keycolumns;"
          + " use cassandra.batchread=async");
    }
    connection = shared.open(settings);
  }

  @Override
  protected void disconnect() {
    if (connection != null) {
      connection = null;
      shared.release();
    }
  }

  @Override
  public Optional<Transport> transport() {
    return Optional.ofNullable(connection);
  }

  @Override
  public CompletableFuture<Status> readRow(String table, byte[] key, Columns columns, RowSink sink) {
    return execute(new Query(Query.Verb.READ, table, columns),
        template -> template.with(keyValues(key)).setFetchSize(UNPAGED),
        rows -> {
          com.datastax.driver.core.Row found = Answers.next(rows);
          if (found == null) {
            return Status.NOT_FOUND;
          }
          emit(found, 0, sink);
          return Status.OK;
        });
  }

  @Override
  public CompletableFuture<Status> insertRow(Row row) {
    return write(Query.Verb.INSERT, row);
  }

  @Override
  public CompletableFuture<Status> updateRow(Row row) {
    return write(Query.Verb.UPDATE, row);
  }

  @Override
  public CompletableFuture<Status> deleteRow(String table, byte[] key) {
    return execute(new Query(Query.Verb.DELETE, table, null),
        template -> template.with(keyValues(key)), rows -> Status.OK);
  }

  @Override
  public CompletableFuture<Status> scanRows(String table, byte[] key, int count, Columns columns, RowSink sink) {
    ByteBuffer limit = ByteBuffer.allocate(Integer.BYTES).putInt(count).flip();
    return execute(new Query(Query.Verb.SCAN, table, columns),
        template -> toCopyOf(key, template.with(keyValues(key, limit))).setFetchSize(SCAN_PAGE),
        Function.identity()).thenCompose(rows -> page(rows, 0, sink));
  }

  @Override
  public CompletableFuture<Status[]> readRows(String table, List<byte[]> keys, Columns columns, RowSink sink) {
    if (!batchReads) {
      return super.readRows(table, keys, columns, sink);
    }
    return execute(new Query(Query.Verb.READ_IN, table, columns),
        template -> toCopyOf(keys.get(0), template.with(list(keys))).setFetchSize(UNPAGED),
        rows -> distribute(rows, keys, sink));
  }

  @Override
  public CompletableFuture<Status[]> insertRows(List<Row> rows) {
    return batchType == null ? super.insertRows(rows) : write(Query.Verb.INSERT, rows);
  }

  @Override
  public CompletableFuture<Status[]> updateRows(List<Row> rows) {
    return batchType == null ? super.updateRows(rows) : write(Query.Verb.UPDATE, rows);
  }

  private CompletableFuture<Status> write(Query.Verb verb, Row row) {
    return execute(new Query(verb, row.table(), row.columns()), template -> bind(template, row), rows -> Status.OK);
  }

  private CompletableFuture<Status[]> write(Query.Verb verb, List<Row> rows) {
    BatchStatement batch = new BatchStatement(batchType);
    for (Row row : rows) {
      CompletableFuture<Template> template = connection.template(new Query(verb, row.table(), row.columns()));
      if (!template.isDone()) {
        return template.thenCompose(known -> write(verb, rows));
      }
      if (template.isCompletedExceptionally()) {
        return template.thenApply(never -> new Status[0]);
      }
      batch.add(bind(template.join(), row));
    }
    // The server ignores the consistency levels of the statements in a batch.
    batch.setConsistencyLevel(batch.getStatements().iterator().next().getConsistencyLevel()).setIdempotent(true);
    return Answers.of(connection.session().executeAsync(batch), done -> Outcome.each(Status.OK, rows.size()));
  }

  private <R> CompletableFuture<R> execute(Query query, Function<Template, Statement> bind,
      Function<ResultSet, R> decode) {
    CompletableFuture<Template> template = connection.template(query);
    if (template.isDone() && !template.isCompletedExceptionally()) {
      return send(bind.apply(template.join()), decode);
    }
    return template.thenCompose(known -> send(bind.apply(known), decode));
  }

  private <R> CompletableFuture<R> send(Statement statement, Function<ResultSet, R> decode) {
    return Answers.of(connection.session().executeAsync(statement), decode);
  }

  private int keySize() {
    return keyColumns.columns().size();
  }

  /** Returns the values of the key's columns, followed by other values. */
  private ByteBuffer[] keyValues(byte[] key, ByteBuffer... others) {
    return withKey(new ByteBuffer[keySize() + others.length], 0, key, others);
  }

  private Statement bind(Template template, Row row) {
    byte[][] fields = row.values();
    ByteBuffer[] values = new ByteBuffer[fields.length + keySize()];
    for (int i = 0; i < fields.length; i++) {
      values[i] = ByteBuffer.wrap(fields[i]);
    }
    return template.with(withKey(values, fields.length, row.key()));
  }

  private ByteBuffer[] withKey(ByteBuffer[] values, int first, byte[] key, ByteBuffer... others) {
    int next = first;
    for (KeyColumns.Column column : keyColumns.columns()) {
      values[next++] = column.of(key);
    }
    System.arraycopy(others, 0, values, next, others.length);
    return values;
  }

  /**
   * Sets the key for which the driver chooses a node. The driver itself finds it neither in a list of keys nor in the
   * token where a scan begins.
   */
  private Statement toCopyOf(byte[] key, Statement statement) {
    return statement instanceof BoundStatement bound && !keyColumns.several()
        ? bound.setRoutingKey(ByteBuffer.wrap(key)) : statement;
  }

  /**
   * Returns the protocol's encoding of a list. The driver's encoder would need to know whether the elements are text or
   * blob.
   */
  private static ByteBuffer list(List<byte[]> keys) {
    int size = Integer.BYTES;
    for (byte[] key : keys) {
      size += Integer.BYTES + key.length;
    }
    ByteBuffer list = ByteBuffer.allocate(size).putInt(keys.size());
    for (byte[] key : keys) {
      list.putInt(key.length).put(key);
    }
    return list.flip();
  }

  /**
   * Assigns the rows of an {@code IN} read to the requested records. The server returns the rows in its own order, and
   * each key only once.
   */
  private Status[] distribute(ResultSet rows, List<byte[]> keys, RowSink sink) {
    Map<ByteBuffer, List<Integer>> requests = new HashMap<>(2 * keys.size());
    for (int i = 0; i < keys.size(); i++) {
      requests.computeIfAbsent(ByteBuffer.wrap(keys.get(i)), key -> new ArrayList<>(1)).add(i);
    }
    Status[] statuses = Outcome.each(Status.NOT_FOUND, keys.size());
    for (com.datastax.driver.core.Row row : rows) {
      for (int i : requests.get(row.getBytesUnsafe(0))) {
        emit(row, i, sink);
        statuses[i] = Status.OK;
      }
    }
    return statuses;
  }

  /** Reads a page of a scan, and fetches the next page if there is one. */
  private CompletableFuture<Status> page(ResultSet rows, int taken, RowSink sink) {
    int next = taken;
    for (int left = rows.getAvailableWithoutFetching(); left > 0; left--) {
      emit(Answers.next(rows), next++, sink);
    }
    if (rows.isFullyFetched()) {
      return CompletableFuture.completedFuture(Status.OK);
    }
    int emitted = next;
    return Answers.of(rows.fetchMoreResults(), Function.<ResultSet>identity())
        .thenCompose(more -> page(more, emitted, sink));
  }

  /** Passes the fields of a row, which follow its key, to the sink. Fields that were never written are left out. */
  private void emit(com.datastax.driver.core.Row found, int row, RowSink sink) {
    if (sink == RowSink.DISCARD) {
      return;
    }
    ColumnDefinitions definitions = found.getColumnDefinitions();
    for (int i = keySize(); i < definitions.size(); i++) {
      ByteBuffer value = found.getBytesUnsafe(i);
      if (value != null) {
        sink.field(row, definitions.getName(i), value);
      }
    }
  }
}
