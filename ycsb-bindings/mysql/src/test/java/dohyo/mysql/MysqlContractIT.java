package dohyo.mysql;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dohyo.binding.Binding;
import dohyo.binding.KeyColumns;
import dohyo.binding.Settings;
import dohyo.binding.Transport;
import dohyo.contract.BindingContract;
import java.io.IOException;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import site.ycsb.Status;
import site.ycsb.StringByteIterator;

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
    createTable(name, key.columns().stream().map(column -> Sql.quoted(column.name()) + " " + switch (column.type()) {
      case INT -> "INT";
      case TEXT -> "VARCHAR(" + column.length() + ") CHARACTER SET ascii COLLATE ascii_bin";
      default -> "BIGINT";
    } + " NOT NULL").collect(Collectors.joining(", "))
        + ", PRIMARY KEY (" + key.names().stream().map(Sql::quoted).collect(Collectors.joining(", ")) + ")", fields);
  }

  private void createTable(String name, String key, List<String> fields) throws SQLException {
    execute("CREATE TABLE " + name + " (" + key + ", "
        + fields.stream().map(field -> Sql.quoted(field) + " LONGBLOB").collect(Collectors.joining(", "))
        + ") ENGINE=" + server.properties().getProperty("server.engine"));
  }

  @Test
  void aForeignTableIsNotTakenForATrialsOwn() throws Exception {
    // The database of the other tests has theirs.
    String url = server.properties().getProperty("mysql.url").replaceFirst("/[^/]*$", "/contract_schema");
    execute("CREATE DATABASE contract_schema");
    try (Server other = new Server(new Login(new Settings(server.with(Map.of("mysql.url", url)))))) {
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

  private void execute(String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  /** Only what the server has rolled back. */
  @Override
  protected int sentAgain(int retries) {
    return 0;
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 2})
  void whatTheServerRollsBackIsSentAgainAsOftenAsItMayBe(int retries) throws SQLException {
    assumeTrue("InnoDB".equals(server.properties().getProperty("server.engine")), "locks of rows");
    String url = server.properties().getProperty("mysql.url") + "?sessionVariables=innodb_lock_wait_timeout=1";
    Binding db = open(Map.of("mysql.url", url, "retries", String.valueOf(retries)));
    Transport transport = db.transport().orElseThrow();
    String key = "locked" + retries;
    assertEquals(Status.OK, db.insert(TABLE, key, Map.of("field0", new StringByteIterator("a"))));
    connection.setAutoCommit(false);
    try {
      execute("SELECT * FROM " + TABLE + " WHERE YCSB_KEY = '" + key + "' FOR UPDATE");
      Status refused = db.update(TABLE, key, Map.of("field0", new StringByteIterator("b")));
      assertTrue(refused.getName().endsWith("_1205"), refused.toString());
      assertEquals(retries, transport.retries());
    } finally {
      connection.rollback();
      connection.setAutoCommit(true);
    }
    assertEquals(Status.OK, db.update(TABLE, key, Map.of("field0", new StringByteIterator("b"))));
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
