package dohyo.jdbc.admin;

import dohyo.jdbc.Login;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Connection of an administrator to one running server, a primary or a replica. */
public class JdbcServer implements AutoCloseable {
  private final String place;
  private final Connection connection;

  /**
   * Connects to the server.
   *
   * @throws SQLException if the server cannot be reached
   */
  public JdbcServer(Login login) throws SQLException {
    place = login.server();
    connection = login.connect();
  }

  @Override
  public final void close() throws SQLException {
    connection.close();
  }

  /** Returns the address {@code HOST:PORT}. */
  public final String place() {
    return place;
  }

  protected final Connection connection() {
    return connection;
  }

  /** Executes a statement. */
  public final void execute(String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  /** Returns the first two columns of a query's result as a map. */
  public final Map<String, String> pairs(String query) throws SQLException {
    Map<String, String> pairs = new TreeMap<>();
    try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(query)) {
      while (rows.next()) {
        pairs.put(rows.getString(1), rows.getString(2));
      }
    }
    return pairs;
  }

  /** Returns the rows of a query's result, each as a map from column to value. */
  public final List<Map<String, String>> rows(String query) throws SQLException {
    List<Map<String, String>> all = new ArrayList<>();
    try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(query)) {
      while (rows.next()) {
        Map<String, String> row = new LinkedHashMap<>();
        for (int i = 1; i <= rows.getMetaData().getColumnCount(); i++) {
          row.put(rows.getMetaData().getColumnLabel(i), rows.getString(i));
        }
        all.add(row);
      }
    }
    return all;
  }

  /** Returns the single value of a query's result; {@code null} if it is NULL. */
  public final String value(String query) throws SQLException {
    return rows(query).get(0).values().iterator().next();
  }
}
