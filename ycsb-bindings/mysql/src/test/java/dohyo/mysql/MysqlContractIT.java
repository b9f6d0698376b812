package dohyo.mysql;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dohyo.binding.Binding;
import dohyo.binding.KeyColumns;
import dohyo.binding.Settings;
import dohyo.contract.JdbcContract;
import dohyo.mysql.admin.MysqlServer;
import dohyo.mysql.admin.Schema;
import java.io.IOException;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Runs the contract on a real MariaDB or MySQL, with the engine that {@code server.engine} names. */
class MysqlContractIT extends JdbcContract {
  private long counted;

  MysqlContractIT() throws SQLException {
    super("mysql");
  }

  @Override
  protected Connection connect() throws SQLException {
    return new MysqlLogin(new Settings(server.properties())).connect();
  }

  @Override
  protected Binding newBinding() {
    return new MysqlBinding();
  }

  @Override
  protected String quoted(String name) {
    return new MysqlDialect().quoted(name);
  }

  @Override
  protected String type(KeyColumns.Column column) {
    return switch (column.type()) {
      case KEY -> "VARBINARY(255)";
      case INT -> "INT";
      case TEXT -> "VARCHAR(" + column.length() + ") CHARACTER SET ascii COLLATE ascii_bin";
      default -> "BIGINT";
    };
  }

  @Override
  protected String fieldType() {
    return "LONGBLOB";
  }

  @Override
  protected String options() {
    return " ENGINE=" + server.properties().getProperty("server.engine");
  }

  @Override
  protected boolean locksRows() {
    return "InnoDB".equals(server.properties().getProperty("server.engine"));
  }

  @Override
  protected Map.Entry<Map<String, String>, String> lockTimeout() {
    String url = server.properties().getProperty("mysql.url") + "?sessionVariables=innodb_lock_wait_timeout=1";
    return Map.entry(Map.of("mysql.url", url), "1205");
  }

  @Test
  void aForeignTableIsNotTakenForATrialsOwn() throws Exception {
    // Use another database, because the other tests have made tables in the default database.
    String url = server.properties().getProperty("mysql.url").replaceFirst("/[^/]*$", "/contract_schema");
    execute("CREATE DATABASE contract_schema");
    try (MysqlServer other = new MysqlServer(new MysqlLogin(new Settings(server.with(Map.of("mysql.url", url)))))) {
      Schema mine = schema("mine'\\", "usertable0,usertable1");
      mine.create(other);
      other.execute("INSERT INTO usertable1 (YCSB_KEY, `a``b0`) VALUES ('k', 'v')");
      mine.create(other);
      schema("mine'\\", "usertable0,usertable1,usertable2").create(other);
      assertEquals("1", other.value("SELECT COUNT(*) FROM usertable1"));
      assertEquals("dohyo mine'\\", other.value("SELECT TABLE_COMMENT FROM information_schema.TABLES WHERE"
          + " TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'usertable2'"));

      IOException refused = assertThrows(IOException.class,
          () -> schema("other", "usertable1,usertable3").create(other));
      assertTrue(refused.getMessage().contains("contract_schema") && refused.getMessage().contains("usertable"),
          refused.getMessage());
      assertFalse(other.rows("SHOW TABLES").toString().contains("usertable3"));
      assertEquals("1", other.value("SELECT COUNT(*) FROM usertable1"));
    }
  }

  private Schema schema(String trial, String tables) {
    return new Schema(new Settings(server.with(Map.of("trial", trial, "tables", tables, "fieldnameprefix", "a`b",
        "fieldcount", "2", "engine", server.properties().getProperty("server.engine")))));
  }

  /**
   * Returns the number of rows that the server has sent to clients, without those of this query. In these tests, each
   * read returns one row.
   */
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

  @Override
  protected Map.Entry<Map<String, String>, String> nowhere() {
    return Map.entry(Map.of("mysql.url", "jdbc:mariadb://127.0.0.1:1/ycsb"), "127.0.0.1:1");
  }
}
