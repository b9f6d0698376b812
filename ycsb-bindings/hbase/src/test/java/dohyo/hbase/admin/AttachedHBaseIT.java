package dohyo.hbase.admin;

import dohyo.admin.Attached;
import dohyo.binding.Settings;
import dohyo.contract.AttachedContract;
import dohyo.hbase.HBaseConnection;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.junit.jupiter.api.AfterEach;

class AttachedHBaseIT extends AttachedContract {
  private static final int MILLIS = 60_000;
  private final Connection connection;
  private final Admin theirs;

  AttachedHBaseIT() throws IOException {
    connection = ConnectionFactory.createConnection(
        HBaseConnection.configuration(new Settings(server.properties()), MILLIS));
    theirs = connection.getAdmin();
  }

  @Override
  protected Attached.Opening opening() {
    return AttachedHBase::new;
  }

  @Override
  protected Map<String, String> words() {
    Map<String, String> words = new TreeMap<>(Map.of("tables", place + ":usertable", "family", "family",
        "regions", "2", "encoding", "NONE", "durability", "ASYNC_WAL"));
    server.properties().stringPropertyNames().stream().filter(key -> key.startsWith("hbase."))
        .forEach(key -> words.put(key, server.properties().getProperty(key)));
    return words;
  }

  private TableName intruder() {
    return TableName.valueOf(place, "theirs");
  }

  @Override
  protected void intrude() throws IOException {
    theirs.createTable(TableDescriptorBuilder.newBuilder(intruder())
        .setColumnFamily(ColumnFamilyDescriptorBuilder.of("f")).build());
  }

  @Override
  protected void withdraw() throws IOException {
    theirs.disableTable(intruder());
    theirs.deleteTable(intruder());
  }

  @Override
  protected List<String> others() throws IOException {
    return Stream.concat(theirs.listTableDescriptors().stream().map(Object::toString),
        Stream.of(theirs.listNamespaces())).sorted().toList();
  }

  @AfterEach
  void close() throws IOException {
    connection.close();
  }
}
