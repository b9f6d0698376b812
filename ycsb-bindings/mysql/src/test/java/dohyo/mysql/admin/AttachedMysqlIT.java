package dohyo.mysql.admin;

import dohyo.admin.Attached;
import dohyo.binding.Settings;
import dohyo.contract.AttachedContract;
import dohyo.mysql.MysqlLogin;
import java.net.URI;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

class AttachedMysqlIT extends AttachedContract {
  private final URI url = URI.create(server.properties().getProperty("mysql.url").substring("jdbc:".length()));

  @Override
  protected Attached.Opening opening() {
    return AttachedMysql::new;
  }

  @Override
  protected Map<String, String> words() {
    return Map.of("server", url.getAuthority(), "engine", "InnoDB", "fieldlength", "100");
  }

  private List<String> inside(String statement) throws SQLException {
    try (Connection connection = new MysqlLogin(new Settings(server.with(Map.of(
        "mysql.url", "jdbc:%s://%s/%s".formatted(url.getScheme(), url.getAuthority(), place))))).connect()) {
      return query(connection, statement);
    }
  }

  private static List<String> query(Connection connection, String words) throws SQLException {
    List<String> found = new ArrayList<>();
    try (Statement statement = connection.createStatement()) {
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
    try (Connection connection = new MysqlLogin(new Settings(server.properties())).connect()) {
      return query(connection, "SELECT concat_ws('.', TABLE_SCHEMA, TABLE_NAME, CREATE_TIME)"
          + " FROM information_schema.TABLES WHERE TABLE_SCHEMA <> 'information_schema' ORDER BY 1");
    }
  }
}
