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

/** One connection with its prepared statements, for one thread at a time. A broken one is opened again when needed. */
final class JdbcConnection implements AutoCloseable {
  /** Batches of every size up to this many records stay prepared; nearly all have the same size. */
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
   * @param names     its result's columns, from 0, null for those of the key; empty for a write
   * @param key       places of the key's columns in the result, from 1; 0 for one that does not
   */
  record Prepared(PreparedStatement statement, String[] names, int[] key) {
  }

  /**
   * What is done with a connection.
   *
   * @param <T> its result
   */
  @FunctionalInterface
  interface Work<T> {
    T on(JdbcConnection connection) throws SQLException;
  }

  /** Does not connect yet. */
  JdbcConnection(Dialect dialect, Login login, Settings settings) {
    this.dialect = dialect;
    this.login = login;
    key = new Key(settings);
    fields = new Fields(dialect, settings);
    mostRetries = Binding.retries(settings);
    timeoutNanos = TimeUnit.MILLISECONDS.toNanos(Binding.operationTimeout(settings));
  }

  /**
   * Connects, unless connected.
   *
   * @throws SQLException if the server cannot be reached
   */
  void open() throws SQLException {
    if (connection == null) {
      connection = login.connect();
    }
  }

  /**
   * Does something with the connection. What the server has rolled back, because of a deadlock or a lock timeout, is
   * sent again as often as {@code retries} allows.
   *
   * @throws SQLException if it fails; the connection is opened again the next time if it is gone
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

  /** How often something was sent again. */
  long retries() {
    return retries.get();
  }

  /** The server's dialect. */
  Dialect dialect() {
    return dialect;
  }

  /** The columns of the tables' keys. */
  Key key() {
    return key;
  }

  /** The columns of the tables' fields. */
  Fields fields() {
    return fields;
  }

  /** The prepared statement for a text, made at its first use. */
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
   * The columns of a statement for rows with different columns: all that such rows have had so far, so that nearly all
   * batches share one statement.
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
        // It is lost anyway.
      }
      connection = null;
    }
  }
}
