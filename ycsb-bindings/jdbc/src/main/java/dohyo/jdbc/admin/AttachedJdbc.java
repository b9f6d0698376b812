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
 * A database of our own on somebody else's server. Arguments beside those of {@link Attached}: connection, a file with
 * the binding's properties for user, password and TLS; server, as {@code HOST:PORT}.
 *
 * @param <S> a server
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
   * The binding's properties.
   *
   * @param url name of the property with the URL
   * @param value of it, which names a database that exists, or none
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

  /** The place as statements name it. */
  protected final String quoted() {
    return dialect.quoted(place());
  }

  @Override
  public final String what() {
    return "the database " + place() + " on " + server.place();
  }

  /** Where statements about the tables are executed: connected to the place. */
  protected abstract S inside() throws SQLException;

  @Override
  public final Map<String, Long> countRows() throws SQLException {
    return Admin.countRows(arguments,
        table -> Long.parseLong(inside().value("SELECT COUNT(*) FROM " + dialect.quoted(table))));
  }

  /** The query for the server's counters, as {@link JdbcAdmin#views} has it. */
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
   * Conditions of a server whose copies nobody lists, and so neither what a read is sure to see.
   *
   * @param copies that have a write when it is acknowledged
   */
  protected final Map<String, Object> conditionsOf(int copies) {
    Map<String, Object> conditions = new LinkedHashMap<>();
    conditions.put("replication", UNKNOWN);
    conditions.put("write_acks", UNKNOWN);
    conditions.put("read_acks", "one");
    conditions.put("write_copies", copies);
    conditions.put("read_copies", 1);
    // Behind the address there may be several servers, or a proxy that sends reads to replicas.
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
