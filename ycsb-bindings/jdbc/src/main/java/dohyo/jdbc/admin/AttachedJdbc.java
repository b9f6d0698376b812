package dohyo.jdbc.admin;

import dohyo.admin.Admin;
import dohyo.admin.Attached;
import dohyo.binding.Settings;
import dohyo.jdbc.Dialect;
import java.io.IOException;
import java.sql.SQLException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;

/**
 * Administers a trial's database on an attached server. The arguments are those of {@link Attached}; connection, a file
 * with the binding's properties for user, password and TLS; and server, {@code HOST:PORT}.
 *
 * @param <S> type of the server
 */
public abstract class AttachedJdbc<S extends JdbcServer> implements Attached {
  private final Settings arguments;
  private final Dialect dialect;
  private final S server;

  protected AttachedJdbc(Settings arguments, Dialect dialect, S server) {
    this.arguments = arguments;
    this.dialect = dialect;
    this.server = server;
  }

  /**
   * Returns the binding's properties.
   *
   * @param arguments arguments of the verb
   * @param url       name of the property with the URL
   * @param value     the URL, which names an existing database or none
   */
  protected static Settings connection(Settings arguments, String url, String value) {
    Properties properties = new Properties();
    properties.putAll(JdbcAdmin.connection(arguments).properties());
    properties.setProperty(url, value);
    return new Settings(properties);
  }

  protected final Settings arguments() {
    return arguments;
  }

  protected final S server() {
    return server;
  }

  protected final String place() {
    return arguments.required("place");
  }

  /** Returns the quoted name of the place. */
  protected final String quoted() {
    return dialect.quoted(place());
  }

  @Override
  public final String what() {
    return "the database " + place() + " on " + server.place();
  }

  /** Returns a server connection in which the place is the current database, for statements about the tables. */
  protected abstract S inside() throws SQLException;

  @Override
  public final Map<String, Long> countRows() throws SQLException {
    return Admin.countRows(arguments,
        table -> Long.parseLong(inside().value("SELECT COUNT(*) FROM " + dialect.quoted(table))));
  }

  /** Returns the query for the server's counters, see {@link JdbcAdmin#views}. */
  protected abstract String status() throws SQLException;

  @Override
  public final Map<String, List<String>> statistics() throws SQLException {
    return Map.of("status", JdbcAdmin.lines(inside().rows(status())));
  }

  @Override
  public final void ping() throws SQLException {
    server.value("SELECT 1");
  }

  /**
   * Returns the conditions of a server whose replicas cannot be listed, so that the consistency of reads is unknown.
   *
   * @param copies number of copies that have a write when it is acknowledged
   */
  protected final Map<String, Object> conditionsOf(int copies) {
    Map<String, Object> conditions = new LinkedHashMap<>();
    conditions.put("replication", UNKNOWN);
    conditions.put("write_acks", UNKNOWN);
    conditions.put("read_acks", "one");
    conditions.put("write_copies", copies);
    conditions.put("read_copies", 1);
    // The address may lead to several servers, or to a proxy that sends reads to replicas.
    conditions.put("consistency", UNKNOWN);
    conditions.put("endpoints", List.of(server.place()));
    return conditions;
  }

  @Override
  public void close() throws IOException {
    try {
      server.close();
    } catch (SQLException e) {
      throw new IOException(e);
    }
  }
}
