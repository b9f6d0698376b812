package dohyo.hbase;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dohyo.binding.Binding;
import dohyo.binding.Outcome;
import dohyo.binding.Settings;
import dohyo.binding.Transport;
import dohyo.contract.BindingContract;
import dohyo.hbase.admin.HBaseAdmin;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.RegionMetrics;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.RegionInfo;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.util.Bytes;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import site.ycsb.ByteIterator;
import site.ycsb.Status;
import site.ycsb.StringByteIterator;

/** Runs the contract on a real HBase. */
class HBaseContractIT extends BindingContract {
  private final Connection connection;

  HBaseContractIT() throws IOException {
    connection = connect();
  }

  @Override
  protected Binding newBinding() {
    return new HBaseBinding();
  }

  @Override
  protected void createTable(String name, boolean binaryKeys, List<String> fields) throws IOException {
    TableName table = TableName.valueOf(name);
    String family = server.properties().getProperty("columnfamily", "family");
    try (Admin admin = connection.getAdmin()) {
      // With two regions, a batch and a scan cross the border between them.
      admin.createTable(TableDescriptorBuilder.newBuilder(table)
          .setColumnFamily(ColumnFamilyDescriptorBuilder.of(family)).build(), new byte[][] {Bytes.toBytes("scan5")});
    }
  }

  @Test
  void everyEventLoopHasAChannel() {
    Binding db = open(Map.of("hbase.netty.eventloop.rpcclient.thread.count", "3"));
    Transport transport = db.transport().orElseThrow();
    assertEquals(3, transport.eventLoops());
    for (int i = 0; i < 12; i++) {
      assertEquals(Status.OK, db.insert(TABLE, "channel" + i, Map.of("field0", new StringByteIterator("a"))));
    }
    assertTrue(transport.connections() >= 3, transport.connections() + " channels");
  }

  @Test
  void aTableIsReadyAndARegionIsFoundAgainWithoutARetry() throws IOException {
    TableName table = TableName.valueOf("contract_moved");
    createTable(table.getNameAsString(), true, List.of("field0"));
    Binding db = open(Map.of());
    Map<String, ByteIterator> values = Map.of("field0", new StringByteIterator("a"));
    assertEquals(Status.OK, db.insert(table.getNameAsString(), "k", values), "the table was made just before");
    try (Admin admin = connection.getAdmin()) {
      for (RegionInfo region : admin.getRegions(table)) {
        admin.unassign(region.getRegionName());
      }
      Status gone = db.insert(table.getNameAsString(), "k", values);
      assertTrue(Outcome.isError(gone), gone.toString());
      assertFalse(gone.getName().startsWith("RETRIES"), "not named after its cause: " + gone);
      for (RegionInfo region : admin.getRegions(table)) {
        admin.assign(region.getRegionName());
      }
    }
    // The first insert may fail, because the driver may still use the region's old location.
    Status first = db.insert(table.getNameAsString(), "k", values);
    assertEquals(Status.OK, db.insert(table.getNameAsString(), "k", values), "after " + first);
    assertEquals(0, db.transport().orElseThrow().retries());
  }

  @Test
  void aForeignTableIsNotTakenForATrialsOwn() throws IOException {
    create("mine", "schema0,schema1");
    try (Table table = connection.getTable(TableName.valueOf("schema1"))) {
      table.put(new Put(Bytes.toBytes("k")).addColumn(Bytes.toBytes("f"), null, Bytes.toBytes("v")));
      create("mine", "schema0,schema1");
      create("mine", "schema0,schema1,schema2");
      IOException refused = assertThrows(IOException.class, () -> create("other", "schema3,schema1"));
      assertTrue(refused.getMessage().contains("schema1"), refused.getMessage());
      assertTrue(table.exists(new Get(Bytes.toBytes("k"))));
    }
    try (Admin admin = connection.getAdmin()) {
      assertFalse(admin.tableExists(TableName.valueOf("schema3")));
      assertEquals("dohyo mine", admin.getDescriptor(TableName.valueOf("schema2")).getValue("DOHYO"));
    }
  }

  private void create(String trial, String tables) throws IOException {
    try (HBaseAdmin hbase = new HBaseAdmin(new Settings(server.with(Map.of("trial", trial, "tables", tables,
        "family", "f", "compression", "none", "encoding", "NONE", "durability", "SYNC_WAL"))))) {
      hbase.createTables();
    }
  }

  @Override
  protected long readsServed(String table) throws IOException {
    long reads = 0;
    try (Admin admin = connection.getAdmin()) {
      for (ServerName regionServer : admin.getRegionServers()) {
        for (RegionMetrics region : admin.getRegionMetrics(regionServer, TableName.valueOf(table))) {
          reads += region.getReadRequestCount();
        }
      }
    }
    return reads;
  }

  @AfterAll
  void closeConnection() throws IOException {
    connection.close();
  }

  private Connection connect() throws IOException {
    Configuration configuration = HBaseConfiguration.create();
    server.properties().stringPropertyNames().stream().filter(key -> key.startsWith("hbase."))
        .forEach(key -> configuration.set(key, server.properties().getProperty(key)));
    return ConnectionFactory.createConnection(configuration);
  }

  @Override
  protected List<Mode> modes() {
    return List.of(new Mode("multi", Map.of(), false));
  }

  @Override
  protected Map.Entry<Map<String, String>, String> nowhere() {
    return Map.entry(Map.of("hbase.zookeeper.quorum", "127.0.0.1", "hbase.zookeeper.property.clientPort", "1"),
        "127.0.0.1 port 1");
  }
}
