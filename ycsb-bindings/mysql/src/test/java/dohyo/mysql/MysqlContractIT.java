package dohyo.mysql;

import dohyo.binding.Binding;
import dohyo.binding.KeyColumns;
import dohyo.binding.Settings;
import dohyo.contract.BindingContract;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;

/** The contract on a real MariaDB or MySQL, with the engine that {@code server.engine} names. */
class MysqlContractIT extends BindingContract {
  private final Connection connection;
  private long counted;

  MysqlContractIT() throws SQLException {
    connection = new Login(new Settings(server.properties())).connect();
  }

  @Override
  protected Binding newBinding() {
    return new MysqlBinding();
  }

  @Override
  protected void createTable(String name, boolean binaryKeys, List<String> fields) throws SQLException {
    createTable(name, "YCSB_KEY VARBINARY(255) PRIMARY KEY", fields);
  }

  @Override
  protected void createTable(String name, KeyColumns key, List<String> fields) throws SQLException {
    createTable(name, key.columns().stream().map(column -> "`" + column.name() + "` " + switch (column.type()) {
      case INT -> "INT";
      case TEXT -> "VARCHAR(" + column.length() + ") CHARACTER SET ascii COLLATE ascii_bin";
      default -> "BIGINT";
    } + " NOT NULL").collect(Collectors.joining(", "))
        + ", PRIMARY KEY (`" + String.join("`, `", key.names()) + "`)", fields);
  }

  private void createTable(String name, String key, List<String> fields) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute("DROP TABLE IF EXISTS " + name);
      statement.execute("CREATE TABLE " + name + " (" + key + ", "
          + fields.stream().map(field -> field + " LONGBLOB").collect(Collectors.joining(", "))
          + ") ENGINE=" + server.properties().getProperty("server.engine"));
    }
  }

  /** Rows that went to all clients, less those of the counting itself: reads find every record in these tests. */
  @Override
  protected long readsServed(String table) throws SQLException {
    boolean maria = connection.getMetaData().getDatabaseProductName().equals("MariaDB");
    try (Statement statement = connection.createStatement();
        ResultSet sent = statement.executeQuery(maria ? "SHOW GLOBAL STATUS LIKE 'Rows_sent'"
            : "SELECT '', SUM(SUM_ROWS_SENT)"
                + " FROM performance_schema.events_statements_summary_global_by_event_name")) {
      sent.next();
      return sent.getLong(2) - counted++;
    }
  }

  @AfterAll
  void closeConnection() throws SQLException {
    connection.close();
  }

  @Override
  protected List<Mode> modes() {
    return List.of(new Mode("one-connection", Map.of(), false),
        new Mode("connections", Map.of("mysql.connections", "4"), false));
  }

  @Override
  protected Map.Entry<Map<String, String>, String> nowhere() {
    return Map.entry(Map.of("mysql.url", "jdbc:mariadb://127.0.0.1:1/ycsb"), "127.0.0.1:1");
  }
}
