package dohyo.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dohyo.binding.Binding;
import dohyo.binding.KeyColumns;
import dohyo.binding.Settings;
import dohyo.binding.Transport;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import site.ycsb.Status;
import site.ycsb.StringByteIterator;

/** Tests {@link BindingContract} for bindings that use JDBC. */
public abstract class JdbcContract extends BindingContract {
  protected final Connection connection;
  private final String name;

  /**
   * Connects to the server.
   *
   * @param name prefix of the binding's property names
   */
  protected JdbcContract(String name) throws SQLException {
    this.name = name;
    connection = connect();
  }

  /** Connects to the server as its administrator. */
  protected abstract Connection connect() throws SQLException;

  protected abstract String quoted(String name);

  /** Returns the SQL type of a key column. */
  protected abstract String type(KeyColumns.Column column);

  /** Returns the SQL type of a field, for values of any length. */
  protected abstract String fieldType();

  /** Returns the text after the columns in CREATE TABLE. */
  protected String options() {
    return "";
  }

  /** Returns whether writes lock rows. */
  protected boolean locksRows() {
    return true;
  }

  /** Returns properties that let a write wait one second for a lock, and the server's error code for the timeout. */
  protected abstract Map.Entry<Map<String, String>, String> lockTimeout();

  @Override
  protected void createTable(String table, boolean binaryKeys, List<String> fields) throws SQLException {
    createTable(table, KeyColumns.of(new Settings(server.properties()), "YCSB_KEY"), fields);
  }

  @Override
  protected void createTable(String table, KeyColumns key, List<String> fields) throws SQLException {
    String keys = key.columns().stream().map(column -> quoted(column.name()) + " " + type(column) + " NOT NULL")
        .collect(Collectors.joining(", "));
    String values = fields.stream().map(field -> quoted(field) + " " + fieldType()).collect(Collectors.joining(", "));
    execute("CREATE TABLE " + quoted(table) + " (" + keys + ", " + values + ", PRIMARY KEY ("
        + key.names().stream().map(this::quoted).collect(Collectors.joining(", ")) + "))" + options());
  }

  protected final void execute(String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  /** Returns 0, because a JDBC binding repeats only transactions that the server has rolled back. */
  @Override
  protected int sentAgain(int retries) {
    return 0;
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 2})
  void whatTheServerRollsBackIsSentAgainAsOftenAsItMayBe(int retries) throws SQLException {
    assumeTrue(locksRows(), "locks of rows");
    Map<String, String> settings = new HashMap<>(lockTimeout().getKey());
    settings.put("retries", String.valueOf(retries));
    Binding db = open(settings);
    Transport transport = db.transport().orElseThrow();
    String key = "locked" + retries;
    assertEquals(Status.OK, db.insert(TABLE, key, Map.of("field0", new StringByteIterator("a"))));
    connection.setAutoCommit(false);
    try {
      execute("SELECT * FROM " + quoted(TABLE) + " WHERE " + quoted("YCSB_KEY") + " = '" + key + "' FOR UPDATE");
      Status refused = db.update(TABLE, key, Map.of("field0", new StringByteIterator("b")));
      assertTrue(refused.getName().endsWith("_" + lockTimeout().getValue()), refused.toString());
      assertEquals(retries, transport.retries());
    } finally {
      connection.rollback();
      connection.setAutoCommit(true);
    }
    assertEquals(Status.OK, db.update(TABLE, key, Map.of("field0", new StringByteIterator("b"))));
  }

  @Test
  void whoeverWaitsForAConnectionIsServedBeforeThoseWhoHadOne() throws Exception {
    Binding db = open(Map.of(name + ".connections", "2"));
    byte[] key = db.keys().encode("none".getBytes(StandardCharsets.UTF_8));
    AtomicBoolean hasEnded = new AtomicBoolean();
    try {
      for (int i = 0; i < 2; i++) {
        deleteUntil(hasEnded, db, key);
      }
      assertEquals(Status.OK, db.deleteRow(TABLE, key).get(5, TimeUnit.SECONDS));
    } finally {
      hasEnded.set(true);
    }
  }

  private static void deleteUntil(AtomicBoolean hasEnded, Binding db, byte[] key) {
    db.deleteRow(TABLE, key).whenComplete((status, error) -> {
      if (!hasEnded.get()) {
        deleteUntil(hasEnded, db, key);
      }
    });
  }

  @AfterAll
  void closeConnection() throws SQLException {
    connection.close();
  }

  @Override
  protected List<Mode> modes() {
    return List.of(new Mode("one-connection", Map.of(), false),
        new Mode("connections", Map.of(name + ".connections", "4"), false));
  }
}
