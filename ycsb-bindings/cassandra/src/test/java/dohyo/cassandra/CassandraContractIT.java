package dohyo.cassandra;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.datastax.driver.core.BoundStatement;
import com.datastax.driver.core.Cluster;
import com.datastax.driver.core.CodecRegistry;
import com.datastax.driver.core.Host;
import com.datastax.driver.core.LatencyTracker;
import com.datastax.driver.core.ProtocolVersion;
import com.datastax.driver.core.Row;
import com.datastax.driver.core.Session;
import com.datastax.driver.core.Statement;
import dohyo.binding.Binding;
import dohyo.binding.Columns;
import dohyo.binding.KeyColumns;
import dohyo.binding.RowSink;
import dohyo.binding.SettingException;
import dohyo.binding.Settings;
import dohyo.binding.Shared;
import dohyo.binding.Transport;
import dohyo.cassandra.admin.CqlAdmin;
import dohyo.contract.BindingContract;
import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import site.ycsb.ByteIterator;
import site.ycsb.Status;
import site.ycsb.StringByteIterator;

/**
 * Runs the contract on a real Cassandra in every combination of batch modes. Products that speak CQL extend this class.
 */
public class CassandraContractIT extends BindingContract {
  /** Address of ScyllaDB's REST interface; empty for Cassandra. */
  protected final String api = server.properties().getProperty("server.api", "");
  protected final String keyspace = server.properties().getProperty("cassandra.keyspace", "ycsb");

  protected final Session admin = Cluster.builder()
      .addContactPoints(server.properties().getProperty("hosts").split(","))
      .withPort(Integer.parseInt(server.properties().getProperty("port", "9042")))
      .withoutJMXReporting().build().connect();

  @Override
  protected Binding newBinding() {
    return new CassandraBinding();
  }

  @Override
  protected void createTable(String name, boolean binaryKeys, List<String> fields) {
    createTable(name, "y_id " + (binaryKeys ? "blob" : "text") + " PRIMARY KEY", "blob", fields);
  }

  @Override
  protected void createTable(String name, KeyColumns key, List<String> fields) {
    String columns = key.columns().stream()
        .map(column -> Query.quoted(column.name()) + " " + column.type().name()).collect(Collectors.joining(", "));
    createTable(name, columns + ", PRIMARY KEY (" + Query.primaryKey(key) + ")", "blob", fields);
  }

  private void createTable(String name, String key, String fieldType, List<String> fields) {
    String columns = fields.stream().map(field -> ", " + Query.quoted(field) + " " + fieldType)
        .collect(Collectors.joining());
    execute("CREATE TABLE " + keyspace + "." + name + " (" + key + columns + ")");
  }

  @Override
  protected long readsServed(String table) throws Exception {
    if (!api.isEmpty()) {
      URL page = new URL("http://" + api + "/column_family/metrics/read/" + keyspace + ":" + table);
      try (InputStream number = page.openStream()) {
        return Long.parseLong(new String(number.readAllBytes(), StandardCharsets.UTF_8).strip());
      }
    }
    return execute("SELECT count FROM system_views.local_read_latency WHERE keyspace_name = '" + keyspace
        + "' AND table_name = '" + table + "'").get(0).getLong(0);
  }

  /**
   * Returns a record with an empty key for ScyllaDB. If a key is too large, ScyllaDB reports an error on which the
   * driver closes the connection, and all requests in flight fail.
   */
  @Override
  protected dohyo.binding.Row refused() {
    return api.isEmpty() ? super.refused()
        : new dohyo.binding.Row(TABLE, new byte[0], Columns.of(List.of("field1")), new byte[][] {{1}});
  }

  private List<Row> execute(String cql) {
    return admin.execute(cql).all();
  }

  @AfterAll
  void closeAdmin() {
    admin.getCluster().close();
  }

  @Override
  protected List<Mode> modes() {
    return Stream.concat(
        Stream.of("async", "unlogged", "logged").flatMap(write -> Stream.of("async", "in")
            .map(read -> mode("prepared", write, read))),
        Stream.of(mode("text", "async", "async"), mode("text", "logged", "in"))).toList();
  }

  private static Mode mode(String statements, String write, String read) {
    return new Mode(String.join("-", statements, write, read), Map.of("cassandra.statements", statements,
        "cassandra.batchmode", write, "cassandra.batchread", read), !write.equals("async"));
  }

  /** Returns the modes without IN, which would read every combination of the columns' values. */
  @Override
  protected List<Mode> modesOfColumns() {
    return modes().stream().filter(mode -> mode.properties().get("cassandra.batchread").equals("async")).toList();
  }

  /** Returns the number of connections that the driver makes to a node if {@code wanted} are requested. */
  protected int connections(int wanted) {
    return wanted;
  }

  @Test
  void everyEventLoopHasAConnection() {
    Transport transport = open(Map.of("cassandra.eventloops", "3")).transport().orElseThrow();
    assertEquals(3, transport.eventLoops());
    assertEquals(connections(3), transport.connections());
    assertSame(transport, open(Map.of("cassandra.eventloops", "3")).transport().orElseThrow());
  }

  @Test
  void eachRequestGoesToACopyOfItsRecord() throws Exception {
    List<ByteBuffer> routed = new CopyOnWriteArrayList<>();
    Binding db = new CassandraBinding(new Shared<>(settings -> {
      CassandraConnection connection = new CassandraConnection(settings, Cluster.builder());
      connection.session().getCluster().register(new Routes(routed));
      return connection;
    }));
    db.setProperties(server.with(Map.of("cassandra.batchread", "in")));
    db.init();
    try {
      byte[] key = "routed".getBytes(StandardCharsets.UTF_8);
      Columns one = Columns.of(List.of("field1"));
      db.insertRow(new dohyo.binding.Row(TABLE, key, one, new byte[][] {{1}})).join();
      db.readRow(TABLE, key, null, RowSink.DISCARD).join();
      db.readRows(TABLE, List.of(key, new byte[] {'k'}), null, RowSink.DISCARD).join();
      db.scanRows(TABLE, key, 1, null, RowSink.DISCARD).join();
      // The driver calls the tracker after it has answered.
      while (routed.size() < 4) {
        Thread.sleep(1);
      }
      assertEquals(Collections.nCopies(4, ByteBuffer.wrap(key)), routed);
    } finally {
      db.cleanup();
    }
  }

  /** Records the keys for which the driver has chosen a node. Its own requests are no bound statements. */
  private record Routes(List<ByteBuffer> routed) implements LatencyTracker {
    @Override
    public void update(Host host, Statement statement, Exception error, long nanos) {
      if (statement instanceof BoundStatement) {
        routed.add(statement.getRoutingKey(ProtocolVersion.V4, CodecRegistry.DEFAULT_INSTANCE));
      }
    }

    @Override
    public void onRegister(Cluster cluster) {
      // Nothing to prepare.
    }

    @Override
    public void onUnregister(Cluster cluster) {
      // Nothing to release.
    }
  }

  @Test
  void oneQueryForManyKeysOfSeveralColumnsIsRefused() {
    Binding db = newBinding();
    db.setProperties(server.with(Map.of("cassandra.batchread", "in", "insertorder", "ordered",
        "keycolumns", "host int 2, when timestamp")));
    SettingException refused = assertThrows(SettingException.class, db::init);
    assertTrue(refused.getMessage().startsWith("cassandra.batchread=in: "), refused.getMessage());
  }

  /** Tests {@link CqlAdmin}, which serves Cassandra and ScyllaDB. */
  @Test
  void aForeignTableIsNotTakenForATrialsOwn() throws Exception {
    String own = "\"contract_Schema\"";
    create("mine' --", "usertable0,usertable1");
    execute("INSERT INTO " + own + ".usertable1 (y_id, \"a\"\"b0\") VALUES ('k', 0x01)");
    create("mine' --", "usertable0,usertable1");
    create("mine' --", "usertable0,usertable1,usertable2");
    assertEquals(1, execute("SELECT * FROM " + own + ".usertable1").size());
    String comment = "SELECT comment FROM system_schema.tables WHERE keyspace_name = 'contract_Schema'"
        + " AND table_name = ";
    assertEquals("dohyo mine' --", execute(comment + "'usertable2'").get(0).getString(0));

    assertRefused("contract_Schema.usertable1", "other", "usertable1,usertable3");
    assertRefused("contract_Schema ", "other", "usertable3");
    assertTrue(execute(comment + "'usertable3'").isEmpty());
    assertEquals(1, execute("SELECT * FROM " + own + ".usertable1").size());
  }

  private void assertRefused(String what, String trial, String tables) {
    IOException refused = assertThrows(IOException.class, () -> create(trial, tables));
    assertTrue(refused.getMessage().contains(what), refused.getMessage());
  }

  private void create(String trial, String tables) throws IOException {
    Properties arguments = server.with(Map.of("host", server.properties().getProperty("hosts"), "trial", trial,
        "keyspace", "contract_Schema", "tables", tables, "strategy", "NetworkTopologyStrategy", "fieldcount", "2",
        "fieldnameprefix", "a\"b", "compaction", "LeveledCompactionStrategy"));
    try (CqlAdmin cql = new CqlAdmin(new Settings(arguments))) {
      cql.createTables();
    }
  }

  @Override
  protected Map.Entry<Map<String, String>, String> nowhere() {
    return Map.entry(Map.of("hosts", "127.0.0.1", "port", "1"), "127.0.0.1 port 1");
  }

  @Test
  void textColumnsOfStockTables() throws Exception {
    createTable("contract_text", "y_id text PRIMARY KEY", "text", List.of("field0"));
    Binding db = newBinding();
    db.setProperties(server.with(Map.of("cassandra.batchread", "in")));
    db.init();
    try {
      assertEquals(Status.OK, db.insert("contract_text", "é", Map.of("field0", new StringByteIterator("abc"))));
      Map<String, ByteIterator> read = new HashMap<>();
      assertEquals(Status.OK, db.read("contract_text", "é", null, read));
      assertEquals("abc", read.get("field0").toString());
    } finally {
      db.cleanup();
    }
  }
}
