package dohyo.jdbc;

import dohyo.binding.Binding;
import dohyo.binding.Columns;
import dohyo.binding.Row;
import dohyo.binding.Settings;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A connection with its prepared statements. Only one thread at a time may use it. After a failure, the next use opens
 * it again.
 */
final class JdbcConnection implements AutoCloseable {
  /**
   * Maximum number of prepared statements. If there are more, the least recently used one is closed. Batches of
   * different sizes need different statements, but nearly all batches have the same size.
   */
  private static final int STATEMENTS = 200;

  private final Dialect dialect;
  private final Login login;
  private final Key key;
  private final Fields fields;
  private final long timeoutNanos;
  private final int mostRetries;
  private final AtomicLong retries = new AtomicLong();
  private volatile Connection connection;
  private final Map<Sql, Prepared> statements = new LinkedHashMap<>(STATEMENTS, 0.75f, true);
  private final Map<String, Columns> mixed = new HashMap<>();

  /**
   * A prepared statement.
   *
   * @param statement the driver's statement
   * @param names     names of the result's columns, from 0; null for columns of the key; empty for a write
   * @param key       positions of the key's columns in the result, from 1; 0 for a column that is not in it
   */
  record Prepared(PreparedStatement statement, String[] names, int[] key) {
  }

  /**
   * Work with a connection.
   *
   * @param <T> type of the result
   */
  @FunctionalInterface
  interface Work<T> {
    T on(JdbcConnection connection) throws SQLException;
  }

  /** Creates a connection that is not open yet. */
  JdbcConnection(Dialect dialect, Login login, Settings settings) {
    this.dialect = dialect;
    this.login = login;
    key = new Key(settings);
    fields = new Fields(dialect, settings);
    mostRetries = Binding.retries(settings);
    timeoutNanos = TimeUnit.MILLISECONDS.toNanos(Binding.operationTimeout(settings));
  }

  /**
   * Connects to the server unless the connection is open.
   *
   * @throws SQLException if the server cannot be reached
   */
  void open() throws SQLException {
    if (connection == null) {
      connection = login.connect();
    }
  }

  /**
   * Runs work with the connection. If the server rolls the work back because of a deadlock or a lock timeout, repeats
   * it at most {@code retries} times within {@code operationtimeout}.
   *
   * @throws SQLException if the work fails; if the connection is broken, the next call opens it again
   */
  <T> T run(Work<T> work) throws SQLException {
    long begin = System.nanoTime();
    for (int done = 0; ; done++) {
      try {
        open();
        return work.on(this);
      } catch (SQLException e) {
        if (Dialect.isBroken(e)) {
          close();
        }
        if (done >= mostRetries || !dialect.isRolledBack(e) || System.nanoTime() - begin > timeoutNanos) {
          throw e;
        }
        retries.incrementAndGet();
      }
    }
  }

  boolean isOpen() {
    return connection != null;
  }

  /** Returns the number of retries so far. */
  long retries() {
    return retries.get();
  }

  /** Returns the dialect of the server. */
  Dialect dialect() {
    return dialect;
  }

  /** Returns the columns of the tables' keys. */
  Key key() {
    return key;
  }

  /** Returns the converter for the values of the tables' fields. */
  Fields fields() {
    return fields;
  }

  /** Returns the prepared statement; prepares it on first use. */
  Prepared prepared(Sql sql) throws SQLException {
    Prepared known = statements.get(sql);
    if (known == null) {
      if (statements.size() == STATEMENTS) {
        statements.remove(statements.keySet().iterator().next()).statement().close();
      }
      known = prepare(sql);
      statements.put(sql, known);
    }
    return known;
  }

  /**
   * Returns the columns of a statement for rows with different columns. It covers all columns that such rows have had
   * so far, so that nearly all batches share one statement.
   */
  Columns mixed(List<Row> rows) {
    String table = rows.get(0).table();
    TreeSet<String> names = new TreeSet<>();
    rows.forEach(row -> names.addAll(row.columns().names()));
    Columns known = mixed.get(table);
    if (known == null || !known.names().containsAll(names)) {
      names.addAll(known == null ? List.of() : known.names());
      known = Columns.of(List.copyOf(names));
      mixed.put(table, known);
    }
    return known;
  }

  private Prepared prepare(Sql sql) throws SQLException {
    List<String> keyNames = key.names();
    PreparedStatement statement = connection.prepareStatement(sql.text(dialect, keyNames));
    ResultSetMetaData result = statement.getMetaData();
    String[] names = new String[result == null ? 0 : result.getColumnCount()];
    int[] places = new int[keyNames.size()];
    for (int i = 0; i < names.length; i++) {
      String name = result.getColumnName(i + 1);
      int ofKey = keyNames.indexOf(name);
      if (ofKey < 0) {
        names[i] = name;
      } else {
        places[ofKey] = i + 1;
      }
    }
    return new Prepared(statement, names, places);
  }

  @Override
  public void close() {
    statements.clear();
    if (connection != null) {
      try {
        connection.close();
      } catch (SQLException e) {
        // Ignore the failure, because the connection is lost anyway.
      }
      connection = null;
    }
  }
}
