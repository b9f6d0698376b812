package dohyo.contract;

import dohyo.binding.Settings;
import java.net.URI;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Tests {@link AttachedContract} on servers with JDBC. The place is the database that a run creates. */
public abstract class AttachedJdbcContract extends AttachedContract {
  /** URL of the server without {@code jdbc:}. */
  protected final URI url;
  private final String property;

  /**
   * Reads the URL of the server.
   *
   * @param name prefix of the binding's property names
   */
  protected AttachedJdbcContract(String name) {
    property = name + ".url";
    url = URI.create(server.properties().getProperty(property).substring("jdbc:".length()));
  }

  /** Connects to the server with these properties of the binding. */
  protected abstract Connection connect(Settings settings) throws SQLException;

  /** Returns a query whose result has a row for each object outside the place, in order. */
  protected abstract String everything();

  /** Executes a statement in the place. */
  protected final void inside(String statement) throws SQLException {
    query(new Settings(server.with(Map.of(
        property, "jdbc:%s://%s/%s".formatted(url.getScheme(), url.getAuthority(), place)))), statement);
  }

  /** Executes a statement outside the place, and returns the first column of its result. */
  protected final List<String> query(String statement) throws SQLException {
    return query(new Settings(server.properties()), statement);
  }

  private List<String> query(Settings settings, String words) throws SQLException {
    List<String> found = new ArrayList<>();
    try (Connection connection = connect(settings); Statement statement = connection.createStatement()) {
      statement.execute(words);
      ResultSet rows = statement.getResultSet();
      while (rows != null && rows.next()) {
        found.add(rows.getString(1));
      }
    }
    return found;
  }

  @Override
  protected void intrude() throws SQLException {
    inside("CREATE VIEW theirs AS SELECT 1 AS one");
  }

  @Override
  protected void withdraw() throws SQLException {
    inside("DROP VIEW theirs");
  }

  @Override
  protected List<String> others() throws SQLException {
    return query(everything());
  }
}
