package dohyo.jdbc;

import dohyo.binding.Binding;
import dohyo.binding.Columns;
import dohyo.binding.Outcome;
import dohyo.binding.Row;
import dohyo.binding.RowSink;
import dohyo.binding.Settings;
import dohyo.binding.Transport;
import dohyo.jdbc.Sql.Verb;
import java.nio.ByteBuffer;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import site.ycsb.DBException;
import site.ycsb.Status;

/**
 * Binding for a database over JDBC, with statements that the server has prepared. Every statement is a separate
 * transaction. A table has the key in column {@link Key#SINGLE}, or in the columns of {@code keycolumns}, and a column
 * for each field. Single keys and values are sent as raw bytes, except values with {@code NAME.columntype=int}.
 *
 * <p>As in Cassandra and HBase, inserts and updates are the same statement, which writes the given fields whether the
 * record exists or not. A batch of writes is one statement with many rows. A batch of reads is one {@code SELECT … IN};
 * with several key columns it is one statement with an alternative for each key.
 *
 * <p>A client thread has {@code NAME.connections} connections, by default as many as {@code inflight}, but at most 32.
 * Operations beyond that wait in the client. {@code NAME} is the name of the {@link Dialect}.
 */
public abstract class JdbcBinding extends Binding {
  /** Maximum number of variables in a statement: the protocols of MySQL and PostgreSQL use 16 bits for their number. */
  private static final int VARIABLES = 65_535;
  /**
   * Maximum number of ranges in a batch read with several key columns. Above a limit, servers do not use the index:
   * MariaDB above 16,000 ranges (optimizer_max_sel_args), MySQL above 8 MB in total (range_optimizer_max_mem_size).
   */
  private static final int RANGES = 8_000;
  /** Number of rows that the driver fetches at once, which limits the size of a response. */
  private static final int SCAN_PAGE = 1000;

  private final Dialect dialect;
  private JdbcConnections connections;

  protected JdbcBinding(Dialect dialect) {
    this.dialect = dialect;
  }

  /** Reads the address and the account of the server. Does not connect. */
  protected abstract Login login(Settings settings);

  @Override
  public String[] loops(Settings settings) {
    return JdbcConnections.count(dialect, settings) > 1 ? new String[] {"events", "threads"} : new String[] {"threads"};
  }

  @Override
  protected final void connect(Settings settings) throws DBException {
    connections = new JdbcConnections(dialect, login(settings), settings);
  }

  @Override
  protected void disconnect() {
    if (connections != null) {
      connections.close();
      connections = null;
    }
  }

  @Override
  public Optional<Transport> transport() {
    return Optional.ofNullable(connections);
  }

  @Override
  public CompletableFuture<Status> readRow(String table, byte[] key, Columns columns, RowSink sink) {
    return connections.run(connection -> {
      JdbcConnection.Prepared read = connection.prepared(new Sql(Verb.READ, table, columns, 1));
      connection.key().set(read.statement(), 1, key);
      try (ResultSet found = read.statement().executeQuery()) {
        if (!found.next()) {
          return Status.NOT_FOUND;
        }
        connection.fields().hand(found, read.names(), 0, sink);
        return Status.OK;
      }
    }, error -> error);
  }

  @Override
  public CompletableFuture<Status> insertRow(Row row) {
    return connections.run(connection -> {
      upsert(connection, Verb.UPSERT, row.columns(), List.of(row));
      return Status.OK;
    }, error -> error);
  }

  @Override
  public CompletableFuture<Status> updateRow(Row row) {
    return insertRow(row);
  }

  @Override
  public CompletableFuture<Status> deleteRow(String table, byte[] key) {
    return connections.run(connection -> {
      PreparedStatement delete = connection.prepared(new Sql(Verb.DELETE, table, null, 1)).statement();
      connection.key().set(delete, 1, key);
      delete.executeUpdate();
      return Status.OK;
    }, error -> error);
  }

  @Override
  public CompletableFuture<Status> scanRows(String table, byte[] key, int count, Columns columns, RowSink sink) {
    return connections.run(connection -> {
      JdbcConnection.Prepared scan = connection.prepared(new Sql(Verb.SCAN, table, columns, 1));
      int variable = 1;
      int least = connection.dialect().comparesRows() ? connection.key().size() : 1;
      for (int columnsAlike = connection.key().size(); columnsAlike >= least; columnsAlike--) {
        variable = connection.key().set(scan.statement(), variable, key, columnsAlike);
      }
      scan.statement().setInt(variable, count);
      scan.statement().setFetchSize(count > SCAN_PAGE ? SCAN_PAGE : 0);
      try (ResultSet found = scan.statement().executeQuery()) {
        for (int row = 0; found.next(); row++) {
          connection.fields().hand(found, scan.names(), row, sink);
        }
      }
      return Status.OK;
    }, error -> error);
  }

  @Override
  public CompletableFuture<Status[]> readRows(String table, List<byte[]> keys, Columns columns, RowSink sink) {
    return connections.run(connection -> {
      Status[] statuses = Outcome.each(Status.NOT_FOUND, keys.size());
      int most = connection.key().size() == 1 ? VARIABLES : RANGES / connection.key().size();
      for (int from = 0; from < keys.size(); from += most) {
        read(connection, table, keys, from, Math.min(from + most, keys.size()), columns, sink, statuses);
      }
      return statuses;
    }, error -> Outcome.each(error, keys.size()));
  }

  @Override
  public CompletableFuture<Status[]> insertRows(List<Row> rows) {
    return connections.run(connection -> write(connection, rows), error -> Outcome.each(error, rows.size()));
  }

  @Override
  public CompletableFuture<Status[]> updateRows(List<Row> rows) {
    return insertRows(rows);
  }

  private static void read(JdbcConnection connection, String table, List<byte[]> keys, int from, int to,
      Columns columns, RowSink sink, Status[] statuses) throws SQLException {
    // A key may be requested several times. The map contains its last position. For each position, the array contains
    // the previous position of the same key.
    Map<ByteBuffer, Integer> last = new HashMap<>(2 * (to - from));
    int[] before = new int[to - from];
    JdbcConnection.Prepared read = connection.prepared(new Sql(Verb.READ, table, columns, to - from));
    int variable = 1;
    for (int i = from; i < to; i++) {
      variable = connection.key().set(read.statement(), variable, keys.get(i));
      Integer same = last.put(ByteBuffer.wrap(keys.get(i)), i);
      before[i - from] = same == null ? -1 : same;
    }
    boolean alone = read.key()[0] == 0;
    try (ResultSet found = read.statement().executeQuery()) {
      while (found.next()) {
        int i = alone ? from : last.get(connection.key().of(found, read.key()));
        for (; i >= 0; i = before[i - from]) {
          connection.fields().hand(found, read.names(), i, sink);
          statuses[i] = Status.OK;
        }
      }
    }
  }

  private static Status[] write(JdbcConnection connection, List<Row> rows) throws SQLException {
    Columns same = rows.get(0).columns();
    boolean alike = rows.stream().allMatch(row -> row.columns().equals(same));
    Verb verb = alike ? Verb.UPSERT : Verb.UPSERT_SOME;
    Columns columns = alike ? same : connection.mixed(rows);
    // Sort the rows. All clients then lock records in the same order, which prevents deadlocks between them.
    List<Row> sorted = new ArrayList<>(rows);
    sorted.sort(Comparator.comparing(Row::key, Arrays::compareUnsigned));
    int most = VARIABLES / (columns.size() + connection.key().size());
    try {
      for (List<Row> part : connection.dialect().writesTwice() ? List.of(sorted) : withoutRepeats(sorted)) {
        for (int from = 0; from < part.size(); from += most) {
          upsert(connection, verb, columns, part.subList(from, Math.min(from + most, part.size())));
        }
      }
      return Outcome.each(Status.OK, rows.size());
    } catch (SQLException e) {
      if (connection.dialect().concernsAll(e)) {
        throw e;
      }
    }
    // Write the records one by one: the server rejects a statement with one bad record, although MyISAM keeps the rows
    // before it.
    Status[] statuses = Outcome.each(Status.OK, rows.size());
    for (int i = 0; i < statuses.length; i++) {
      try {
        upsert(connection, Verb.UPSERT, rows.get(i).columns(), rows.subList(i, i + 1));
      } catch (SQLException e) {
        if (connection.dialect().concernsAll(e)) {
          throw e;
        }
        statuses[i] = connection.dialect().status(e);
      }
    }
    return statuses;
  }

  /** Divides rows into parts without repeated keys: the first write of each record, the second write, and so on. */
  private static List<List<Row>> withoutRepeats(List<Row> sorted) {
    List<List<Row>> parts = new ArrayList<>();
    int repeat = 0;
    for (int i = 0; i < sorted.size(); i++) {
      repeat = i > 0 && Arrays.equals(sorted.get(i).key(), sorted.get(i - 1).key()) ? repeat + 1 : 0;
      if (repeat == parts.size()) {
        parts.add(new ArrayList<>());
      }
      parts.get(repeat).add(sorted.get(i));
    }
    return parts;
  }

  private static void upsert(JdbcConnection connection, Verb verb, Columns columns, List<Row> rows)
      throws SQLException {
    PreparedStatement write = connection.prepared(new Sql(verb, rows.get(0).table(), columns, rows.size())).statement();
    int variable = 1;
    for (Row row : rows) {
      variable = connection.key().set(write, variable, row.key());
      if (verb == Verb.UPSERT) {
        for (byte[] value : row.values()) {
          connection.fields().set(write, variable++, value);
        }
      } else {
        for (String column : columns.names()) {
          int place = row.columns().names().indexOf(column);
          connection.fields().set(write, variable++, place < 0 ? null : row.values()[place]);
        }
      }
    }
    write.executeUpdate();
  }
}
