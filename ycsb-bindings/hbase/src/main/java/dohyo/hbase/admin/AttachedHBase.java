package dohyo.hbase.admin;

import dohyo.admin.Admin;
import dohyo.admin.Attached;
import dohyo.admin.Wait;
import dohyo.binding.Settings;
import dohyo.hbase.HBaseConnection;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.hadoop.hbase.ClusterMetrics;
import org.apache.hadoop.hbase.NamespaceDescriptor;
import org.apache.hadoop.hbase.NamespaceExistException;
import org.apache.hadoop.hbase.NamespaceNotFoundException;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptor;
import org.apache.hadoop.hbase.client.TableDescriptor;
import site.ycsb.DBException;

/**
 * Administers a trial's namespace in an attached HBase. The arguments are those of {@link HBaseAdmin} without the
 * web pages, and {@code connection}, a file with further properties of the binding. The tables' names begin with the
 * name of the place and a colon.
 */
public final class AttachedHBase implements Attached {
  /** Timeout for connecting to the servers, in milliseconds. It is short, because the servers are already running. */
  private static final long REACH_MILLIS = 20_000;

  private final Settings arguments;
  private final HBaseAdmin hbase;

  AttachedHBase(Settings arguments) throws IOException {
    this.arguments = arguments;
    for (String table : Admin.tables(arguments)) {
      if (!table.startsWith(place() + ":")) {
        throw new IOException("the table " + table + " is not in the namespace " + place() + "; nothing was done");
      }
    }
    // The file with credentials must not change the server's address.
    Admin.properties(arguments, "connection").properties().forEach(arguments.properties()::putIfAbsent);
    try {
      HBaseConnection.reach(arguments, REACH_MILLIS);
    } catch (DBException e) {
      throw new IOException(e.getMessage(), e);
    }
    hbase = new HBaseAdmin(arguments);
  }

  /** Runs one verb of {@link Attached}. */
  public static void main(String[] args) {
    Admin.main("HBase", Attached.verbs(AttachedHBase::new), args);
  }

  private String place() {
    return arguments.required("place");
  }

  @Override
  public void close() throws IOException {
    hbase.close();
  }

  @Override
  public String what() {
    return "the namespace " + place() + " on " + arguments.required("hbase.zookeeper.quorum");
  }

  private NamespaceDescriptor namespace() throws IOException {
    try {
      return hbase.admin().getNamespaceDescriptor(place());
    } catch (NamespaceNotFoundException e) {
      return null;
    }
  }

  @Override
  public boolean exists() throws IOException {
    return namespace() != null;
  }

  @Override
  public boolean make() throws IOException {
    try {
      hbase.admin().createNamespace(NamespaceDescriptor.create(place())
          .addConfiguration(HBaseAdmin.MARK, Admin.mark(arguments)).build());
      return true;
    } catch (NamespaceExistException e) {
      return false;
    }
  }

  @Override
  public void createTables() throws IOException {
    hbase.createTables();
  }

  private List<TableDescriptor> here() throws IOException {
    List<TableDescriptor> found = new ArrayList<>();
    for (TableName name : hbase.admin().listTableNamesByNamespace(place())) {
      found.add(hbase.admin().getDescriptor(name));
    }
    return found;
  }

  @Override
  public List<String> foreign() throws IOException {
    String mark = Admin.mark(arguments);
    List<String> found = new ArrayList<>(here().stream().filter(table -> !mark.equals(table.getValue(HBaseAdmin.MARK)))
        .map(table -> "the table " + table.getTableName()).toList());
    if (!mark.equals(namespace().getConfigurationValue(HBaseAdmin.MARK))) {
      found.add("no mark of this run");
    }
    return found;
  }

  @Override
  public String remove() throws IOException {
    for (TableDescriptor table : here()) {
      TableName name = table.getTableName();
      if (hbase.admin().isTableEnabled(name)) {
        hbase.admin().disableTable(name);
      }
      hbase.admin().deleteTable(name);
    }
    hbase.admin().deleteNamespace(place());
    return "the files of deleted tables in its archive for some minutes";
  }

  @Override
  public boolean flush() throws Exception {
    hbase.compact(new Wait(arguments, "hbase_settle_timeout"));
    return true;
  }

  @Override
  public Map<String, Object> conditions() throws IOException {
    ClusterMetrics cluster = hbase.admin().getClusterMetrics();
    List<TableDescriptor> tables = exists() ? here() : List.of();
    Map<String, Object> conditions = new LinkedHashMap<>();
    conditions.put("version", cluster.getHBaseVersion());
    conditions.put("nodes", cluster.getLiveServerMetrics().size());
    // All copies of the log acknowledge an entry. HBase's clients cannot read the number of copies in HDFS.
    for (String key : List.of("replication", "write_acks", "durability")) {
      conditions.put(key, UNKNOWN);
    }
    conditions.put("write_copies", null);
    conditions.put("read_acks", "one");
    conditions.put("read_copies", 1);
    // Only one server serves each region.
    conditions.put("consistency", "strong");
    conditions.put("compression", HBaseAdmin.families(tables, family -> family.getCompressionType().getName()));
    conditions.put("endpoints", cluster.getLiveServerMetrics().keySet().stream()
        .map(server -> server.getHostname() + ":" + server.getPort()).sorted().toList());
    conditions.put("notes", tables.isEmpty() ? List.of() : List.of(
        "write-ahead log: " + tables.stream().map(table -> table.getDurability().name()).distinct()
            .collect(Collectors.joining(", ")),
        "block encoding " + HBaseAdmin.families(tables, ColumnFamilyDescriptor::getDataBlockEncoding),
        "regions per table: " + tables.stream().map(table -> hbase.regionCounts(table.getTableName())).distinct()
            .collect(Collectors.joining(", "))));
    return conditions;
  }

  @Override
  public Map<String, Long> countRows() throws IOException {
    return hbase.countRows();
  }

  @Override
  public void ping() throws IOException {
    hbase.admin().getNamespaceDescriptor(NamespaceDescriptor.DEFAULT_NAMESPACE_NAME_STR);
  }

  /** Returns an empty list, because only an administrator may read permissions. */
  @Override
  public List<String> missingRights() {
    return List.of();
  }
}
