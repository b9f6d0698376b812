package dohyo.h2;

import dohyo.binding.Binding;
import dohyo.binding.Columns;
import dohyo.binding.Outcome;
import dohyo.binding.Row;
import dohyo.binding.RowSink;
import dohyo.binding.Settings;
import java.nio.ByteBuffer;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import site.ycsb.DBException;
import site.ycsb.Status;

/** Accesses H2 over JDBC with one connection per client thread. The next operation reopens a lost connection. */
public final class H2Binding extends Binding {
  private final Map<String, PreparedStatement> statements = new HashMap<>();
  private String server;
  private String url;
  private Connection connection;

  /** Operation that uses the connection. */
  private interface Work {
    Status with() throws SQLException;
  }

  @Override
  protected void connect(Settings settings) throws DBException {
    server = settings.required("h2.server");
    // NETWORK_TIMEOUT limits every wait for the server.
    url = "jdbc:h2:tcp://" + server + "/./ycsb;NETWORK_TIMEOUT=" + operationTimeout(settings);
    try {
      open();
    } catch (SQLException e) {
      throw new DBException("cannot reach H2 at " + server.replace(":", " port ") + ": " + e.getMessage()
          + "; check that the server is up and that h2.server names it", e);
    }
  }

  private void open() throws SQLException {
    connection = DriverManager.getConnection(url, "sa", "");
    statements.clear();
  }

  @Override
  protected void disconnect() {
    try {
      if (connection != null) {
        connection.close();
      }
    } catch (SQLException e) {
      // Ignore the failure: the process is about to end, or the server is gone.
    }
    connection = null;
  }

  @Override
  public CompletableFuture<Status> readRow(String table, byte[] key, Columns columns, RowSink sink) {
    return answer(() -> {
      PreparedStatement read = prepared("SELECT " + fields(columns) + " FROM " + quoted(table) + " WHERE y_id = ?");
      read.setBytes(1, key);
      try (ResultSet found = read.executeQuery()) {
        if (!found.next()) {
          return Status.NOT_FOUND;
        }
        hand(found, 0, sink);
        return Status.OK;
      }
    });
  }

  @Override
  public CompletableFuture<Status> insertRow(Row row) {
    return answer(() -> {
      String variables = row.columns().names().stream().map(name -> ", ?").collect(Collectors.joining());
      PreparedStatement write = prepared("MERGE INTO " + quoted(row.table()) + " (y_id, " + fields(row.columns())
          + ") KEY (y_id) VALUES (?" + variables + ")");
      write.setBytes(1, row.key());
      for (int i = 0; i < row.values().length; i++) {
        write.setBytes(i + 2, row.values()[i]);
      }
      write.executeUpdate();
      return Status.OK;
    });
  }

  @Override
  public CompletableFuture<Status> updateRow(Row row) {
    return insertRow(row); // as in most systems, an update also creates a missing record
  }

  @Override
  public CompletableFuture<Status> deleteRow(String table, byte[] key) {
    return answer(() -> {
      PreparedStatement delete = prepared("DELETE FROM " + quoted(table) + " WHERE y_id = ?");
      delete.setBytes(1, key);
      delete.executeUpdate();
      return Status.OK;
    });
  }

  @Override
  public CompletableFuture<Status> scanRows(String table, byte[] key, int count, Columns columns, RowSink sink) {
    return answer(() -> {
      PreparedStatement scan = prepared("SELECT " + fields(columns) + " FROM " + quoted(table)
          + " WHERE y_id >= ? ORDER BY y_id FETCH FIRST ? ROWS ONLY");
      scan.setBytes(1, key);
      scan.setInt(2, count);
      try (ResultSet found = scan.executeQuery()) {
        for (int row = 0; found.next(); row++) {
          hand(found, row, sink);
        }
      }
      return Status.OK;
    });
  }

  // A batch executes its records one by one. It stops when the connection is lost, so as not to exceed its timeout.

  @Override
  public CompletableFuture<Status[]> readRows(String table, List<byte[]> keys, Columns columns, RowSink sink) {
    List<Work> reads = new ArrayList<>();
    for (int i = 0; i < keys.size(); i++) {
      int row = i;
      reads.add(() -> readRow(table, keys.get(row), columns, (none, column, value) -> sink.field(row, column, value))
          .join());
    }
    return oneByOne(reads);
  }

  @Override
  public CompletableFuture<Status[]> insertRows(List<Row> rows) {
    return oneByOne(rows.stream().map(row -> (Work) () -> insertRow(row).join()).toList());
  }

  @Override
  public CompletableFuture<Status[]> updateRows(List<Row> rows) {
    return insertRows(rows);
  }

  private CompletableFuture<Status[]> oneByOne(List<Work> works) {
    Status[] statuses = new Status[works.size()];
    for (int i = 0; i < statuses.length; i++) {
      boolean lost = i > 0 && connection == null;
      statuses[i] = lost ? statuses[i - 1] : answer(works.get(i)).join();
    }
    return CompletableFuture.completedFuture(statuses);
  }

  private CompletableFuture<Status> answer(Work work) {
    try {
      if (connection == null) {
        open();
      }
      return CompletableFuture.completedFuture(work.with());
    } catch (SQLException e) {
      if (e instanceof SQLNonTransientConnectionException) {
        disconnect();
      }
      return CompletableFuture.completedFuture(Outcome.of(e));
    }
  }

  private PreparedStatement prepared(String sql) throws SQLException {
    PreparedStatement known = statements.get(sql);
    if (known == null) {
      known = connection.prepareStatement(sql);
      statements.put(sql, known);
    }
    return known;
  }

  private static String fields(Columns columns) {
    return columns == null ? "*" : columns.names().stream().map(H2Binding::quoted).collect(Collectors.joining(", "));
  }

  /** Returns a name as a quoted identifier, which may contain any character. */
  static String quoted(String name) {
    return '"' + name.replace("\"", "\"\"") + '"';
  }

  private static void hand(ResultSet found, int row, RowSink sink) throws SQLException {
    for (int i = 1; i <= found.getMetaData().getColumnCount(); i++) {
      String name = found.getMetaData().getColumnName(i);
      byte[] value = name.equals("Y_ID") ? null : found.getBytes(i);
      if (value != null) {
        sink.field(row, name, ByteBuffer.wrap(value));
      }
    }
  }
}
