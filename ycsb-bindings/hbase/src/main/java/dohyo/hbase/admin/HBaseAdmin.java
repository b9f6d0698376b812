package dohyo.hbase.admin;

import dohyo.admin.Admin;
import dohyo.admin.Wait;
import dohyo.binding.Settings;
import dohyo.hbase.HBaseConnection;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.CacheEvictionStats;
import org.apache.hadoop.hbase.ClusterMetrics;
import org.apache.hadoop.hbase.HRegionLocation;
import org.apache.hadoop.hbase.RegionMetrics;
import org.apache.hadoop.hbase.ServerMetrics;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptor;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.CompactionState;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Durability;
import org.apache.hadoop.hbase.client.RegionLocator;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptor;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.filter.FilterList;
import org.apache.hadoop.hbase.filter.FirstKeyOnlyFilter;
import org.apache.hadoop.hbase.filter.KeyOnlyFilter;
import org.apache.hadoop.hbase.io.compress.Compression;
import org.apache.hadoop.hbase.io.crypto.tls.X509Util;
import org.apache.hadoop.hbase.io.encoding.DataBlockEncoding;
import org.apache.hadoop.hbase.security.User;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.security.UserGroupInformation;

/**
 * Administers a running HBase 2. The arguments are the binding's properties (hbase.zookeeper.quorum, …); info, the
 * address of the web pages of this host's region server; hdfs, the address of the NameNode's pages, empty on a local
 * file system; tables; recordcount; and the arguments of each verb.
 */
public final class HBaseAdmin implements AutoCloseable {
  /** Timeout of a single call in milliseconds. Calls normally take much less time. */
  private static final long CALL_MILLIS = 120_000;
  private static final int ROWS_PER_CALL = 10_000;
  /** Key of the trial's mark in the descriptor of a table or namespace. */
  static final String MARK = "DOHYO";
  private static final String HSYNC = "hbase.wal.hsync";
  private static final String SERVER_BEAN = "Hadoop:service=HBase,name=RegionServer,sub=Server";
  /**
   * Time without a change after which the block cache counts as filled. Prefetching begins a second after a file was
   * opened, and the page shows values that are up to two seconds old.
   */
  private static final Duration FILLED_AFTER = Duration.ofSeconds(6);

  private final Settings arguments;
  private final Connection connection;
  private final org.apache.hadoop.hbase.client.Admin admin;
  private final Optional<HdfsPages> hdfs;

  /**
   * Connects to the cluster.
   *
   * @param arguments the arguments of the verb
   * @throws IOException if the connection fails
   */
  public HBaseAdmin(Settings arguments) throws IOException {
    this.arguments = arguments;
    connection = ConnectionFactory.createConnection(HBaseConnection.configuration(arguments, CALL_MILLIS));
    admin = connection.getAdmin();
    hdfs = Optional.of(arguments.text("hdfs", "")).filter(address -> !address.isEmpty()).map(HdfsPages::new);
  }

  @Override
  public void close() throws IOException {
    connection.close();
  }

  org.apache.hadoop.hbase.client.Admin admin() {
    return admin;
  }

  /** Runs one verb: schema, settle, count, drop or stats. */
  public static void main(String[] args) {
    Admin.main("HBase", Map.of("schema", HBaseAdmin::schema, "settle", HBaseAdmin::settle, "count", HBaseAdmin::count,
        "drop", HBaseAdmin::drop, "stats", HBaseAdmin::stats), args);
  }

  /** Creates the tables, then reads the conditions back from the servers. */
  private static Map<String, ?> schema(Settings arguments) throws IOException {
    try (HBaseAdmin hbase = new HBaseAdmin(arguments)) {
      hbase.createTables();
      // Regions must neither move nor split during a run. HBase distributes the regions of a new table evenly.
      hbase.admin.balancerSwitch(false, true);
      hbase.admin.splitSwitch(false, true);
      return Map.of("conditions", hbase.conditions(), "pid", new InfoPages(arguments.required("info")).pid());
    }
  }

  /**
   * Flushes and compacts every table to one file per region. With flush=false, only waits for running flushes and
   * compactions. With flush and prefetch=true, waits until the cache is filled. Then counts the rows. A compaction
   * in HDFS also moves every file to its region's host, which the result shows as locality.
   */
  private static Map<String, ?> settle(Settings arguments) throws Exception {
    try (HBaseAdmin hbase = new HBaseAdmin(arguments)) {
      Wait wait = new Wait(arguments, "hbase_settle_timeout");
      boolean flush = arguments.flag("flush", true);
      Stored stored = flush ? hbase.compact(wait) : hbase.awaitIdle(wait);
      Map<String, Object> answer = new LinkedHashMap<>();
      if (flush && arguments.flag("prefetch", false)) {
        answer.put("block_cache_mb", hbase.fillCache(wait) >> 20);
      }
      answer.put("seconds", wait.seconds());
      answer.put("flushed", flush);
      answer.put("store_files", stored.files());
      answer.put("memstore_mb", stored.memstoreMegabytes());
      answer.put("notes", flush ? List.of() : List.of(stored.unflushed()));
      answer.put("rows", hbase.countRows());
      if (hbase.hdfs.isPresent()) {
        HdfsPages.Files files = hbase.hdfs.get().files("/hbase/data/default");
        answer.put("files", files.count());
        answer.put("replication", files.copies());
        answer.put("locality", hbase.regions(hbase.tables()).stream().filter(region -> region.getStoreFileCount() > 0)
            .mapToDouble(RegionMetrics::getDataLocality).min().orElse(1));
      }
      return answer;
    }
  }

  /** Counts the rows. */
  private static Map<String, ?> count(Settings arguments) throws IOException {
    try (HBaseAdmin hbase = new HBaseAdmin(arguments)) {
      return Map.of("rows", hbase.countRows());
    }
  }

  /** Empties the block caches of the tables. */
  private static Map<String, ?> drop(Settings arguments) throws IOException {
    try (HBaseAdmin hbase = new HBaseAdmin(arguments)) {
      long blocks = 0;
      for (TableName table : hbase.tables()) {
        CacheEvictionStats evicted = hbase.admin.clearBlockCache(table);
        if (evicted.getExceptionCount() > 0) {
          throw new IOException("the block cache of %d regions of %s was not emptied; see the region servers' log"
              .formatted(evicted.getExceptionCount(), table));
        }
        blocks += evicted.getEvictedBlocks();
      }
      return Map.of("evicted_blocks", blocks, "notes", List.of("settle.cache=drop: the block caches were emptied"));
    }
  }

  /** Writes the statistics of this host's servers to files in the given folder. */
  private static Map<String, ?> stats(Settings arguments) throws IOException {
    Path folder = Admin.folder(arguments);
    if (arguments.has("principal")) {
      HBaseConnection.configuration(arguments, CALL_MILLIS);
      // The NameNode's pages require a ticket.
      UserGroupInformation.loginUserFromKeytab(arguments.required("principal"), arguments.required("keytab"));
    }
    InfoPages pages = new InfoPages(arguments.required("info"));
    for (String page : List.of("jmx", "prometheus", "conf")) {
      pages.save(page, folder.resolve("stats-" + page + ".txt"));
    }
    for (String other : arguments.text("pages", "").split(",")) { // such as master-jmx=http://127.0.0.1:16010,…
      String[] pair = other.split("=", 2);
      if (pair.length == 2) {
        new InfoPages(pair[1]).save("jmx", folder.resolve("stats-" + pair[0] + ".txt"));
      }
    }
    return Map.of();
  }

  /**
   * Creates the tables that do not exist.
   *
   * @throws IOException if one of the tables exists without this trial's mark; in that case no table is created
   */
  public void createTables() throws IOException {
    String mark = Admin.mark(arguments);
    List<TableName> missing = new ArrayList<>();
    for (TableName name : tables()) {
      if (!admin.tableExists(name)) {
        missing.add(name);
      } else if (!mark.equals(admin.getDescriptor(name).getValue(MARK))) {
        throw Admin.foreign("the table " + name, "move it to another namespace");
      }
    }
    ColumnFamilyDescriptor family = ColumnFamilyDescriptorBuilder
        .newBuilder(Bytes.toBytes(arguments.required("family")))
        .setMaxVersions(1)
        .setCompressionType(Compression.Algorithm.valueOf(arguments.required("compression").toUpperCase(Locale.ROOT)))
        .setDataBlockEncoding(DataBlockEncoding.valueOf(arguments.required("encoding")))
        .setPrefetchBlocksOnOpen(arguments.flag("prefetch", false))
        .build();
    for (TableName name : missing) {
      byte[][] splits = RegionSplits.of(arguments, tables().indexOf(name), tables().size());
      TableDescriptor table = TableDescriptorBuilder.newBuilder(name).setColumnFamily(family).setValue(MARK, mark)
          .setDurability(Durability.valueOf(arguments.required("durability"))).build();
      if (splits.length == 0) {
        admin.createTable(table);
      } else {
        admin.createTable(table, splits);
      }
    }
  }

  private Map<String, Object> conditions() throws IOException {
    List<TableDescriptor> tables = admin.listTableDescriptors(tables());
    ClusterMetrics cluster = admin.getClusterMetrics();
    Map<ServerName, ServerMetrics> servers = new TreeMap<>(cluster.getLiveServerMetrics());
    List<Configuration> running = new ArrayList<>();
    Map<String, Object> conditions = new LinkedHashMap<>();
    for (ServerMetrics server : servers.values()) {
      InfoPages pages = pages(server);
      pages.conditions().forEach((key, value) -> conditions.merge(key, value, HBaseAdmin::merged));
      running.add(pages.configuration());
    }
    // All copies of the log acknowledge an entry, and only one server serves each region.
    int copies = hdfs.isPresent() ? hdfs.get().files("/hbase/WALs").copies() : 1;

    conditions.put("version", cluster.getHBaseVersion());
    long hosts = servers.keySet().stream().map(ServerName::getHostname).distinct().count();
    conditions.put("nodes", hosts);
    conditions.put("replication", copies);
    conditions.put("write_acks", copies == 1 ? arguments.required("write_acks") : "all");
    conditions.put("read_acks", copies == 1 ? arguments.required("read_acks") : "one");
    conditions.put("write_copies", copies);
    conditions.put("fixed", List.of("write_acks"));
    conditions.put("read_copies", 1);
    conditions.put("durability", durability(running));
    conditions.put("compression", families(tables, family -> family.getCompressionType().getName()));
    conditions.put("endpoints", servers.keySet().stream()
        .map(server -> server.getHostname() + ":" + server.getPort()).toList());
    List<String> notes = new ArrayList<>(protection(running, hdfs.isPresent()));
    notes.addAll(List.of(
        "write-ahead log: %s, hsync %s, %s on %s".formatted(
            distinct(tables.stream().map(TableDescriptor::getDurability)),
            distinct(running.stream().map(server -> server.getBoolean(HSYNC, false))),
            distinct(running.stream().map(server -> server.get("hbase.wal.provider"))),
            hdfs.isPresent() ? "HDFS" : running.get(0).get("fs.file.impl", "LocalFileSystem").replaceAll(".*\\.", "")),
        "block encoding " + families(tables, ColumnFamilyDescriptor::getDataBlockEncoding),
        "regions per table: " + distinct(tables().stream().map(this::regionCounts)),
        "splits of regions: " + (admin.isSplitEnabled() ? "on" : "off")));
    if (families(tables, ColumnFamilyDescriptor::isPrefetchBlocksOnOpen).contains("true")) {
      notes.add("files are read into the block cache when they are opened (PREFETCH_BLOCKS_ON_OPEN)");
    }
    if (servers.size() > hosts) {
      notes.add("region servers: %d, each with its own heap; hosts: %d".formatted(servers.size(), hosts));
    }
    if (hdfs.isPresent()) {
      notes.add(hdfs.get().note());
      notes.add("short-circuit reads: " + distinct(running.stream()
          .map(server -> server.getBoolean("dfs.client.read.shortcircuit", false) ? "on"
              : "off: no libhadoop.so, or others may write to a folder above the data")));
      notes.add("masters: 1 active, " + cluster.getBackupMasterNames().size() + " backup");
    }
    conditions.put("notes", notes);
    return conditions;
  }

  /** Returns where an acknowledged write is (memory or disk), or none if a server keeps no write-ahead log. */
  static String durability(List<Configuration> running) {
    boolean logs = running.stream().allMatch(server -> server.getBoolean("hbase.regionserver.hlog.enabled", true)
        && !server.get("hbase.wal.provider", "").equals("disabled"));
    boolean fsync = running.stream().allMatch(server -> server.getBoolean(HSYNC, false));
    return !logs ? "none" : fsync ? "disk" : "memory";
  }

  /** Returns notes on security features of all servers. They cost time, and other systems may not have them. */
  private static List<String> protection(List<Configuration> running, boolean onHdfs) {
    boolean tls = running.stream().allMatch(server -> server.getBoolean(X509Util.HBASE_SERVER_NETTY_TLS_ENABLED, false)
        && !server.getBoolean(X509Util.HBASE_SERVER_NETTY_TLS_SUPPORTPLAINTEXT, true)
        && server.get(X509Util.HBASE_SERVER_NETTY_TLS_CLIENT_AUTH_MODE, "").equals("NEED"));
    List<String> notes = new ArrayList<>();
    if (running.stream().allMatch(server -> server.get(User.HBASE_SECURITY_CONF_KEY, "").equals("kerberos"))) {
      notes.add("clients and nodes log in with Kerberos");
    }
    if (tls) {
      notes.addAll(List.of("TLS to clients", "TLS among nodes", "clients have certificates",
          "without TLS: ZooKeeper" + (onHdfs ? ", HDFS" : "")));
    }
    return notes;
  }

  private static InfoPages pages(ServerMetrics server) {
    return new InfoPages("http://%s:%d".formatted(server.getServerName().getHostname(), server.getInfoServerPort()));
  }

  private static Object merged(Object one, Object other) {
    return distinct(Stream.of(one, other));
  }

  static String families(List<TableDescriptor> tables, Function<ColumnFamilyDescriptor, Object> property) {
    return distinct(tables.stream().flatMap(table -> Arrays.stream(table.getColumnFamilies())).map(property));
  }

  private static String distinct(Stream<?> values) {
    return values.map(Object::toString).distinct().sorted().collect(Collectors.joining(", "));
  }

  /** Returns the number of a table's regions and, with several servers, the number on each of them. */
  String regionCounts(TableName table) {
    try (RegionLocator locator = connection.getRegionLocator(table)) {
      Map<ServerName, Long> regions = locator.getAllRegionLocations().stream()
          .collect(Collectors.groupingBy(HRegionLocation::getServerName, TreeMap::new, Collectors.counting()));
      String all = Long.toString(regions.values().stream().mapToLong(count -> count).sum());
      return regions.size() == 1 ? all
          : all + " (" + regions.values().stream().map(Object::toString).collect(Collectors.joining(" + ")) + ")";
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Flushes and compacts, so that all records are in files, one per region. Regions that are already in this state, as
   * in a copied load, are rewritten only in HDFS. There, a restart may have moved regions to other hosts.
   */
  Stored compact(Wait wait) throws Exception {
    for (TableName table : tables()) {
      Stored before = Stored.of(regions(List.of(table)));
      admin.flush(table);
      boolean same = before.equals(Stored.of(regions(List.of(table))));
      if (hdfs.isPresent() || !same || mostStoreFiles(table) > 1) {
        admin.majorCompact(table);
      }
    }
    for (TableName table : tables()) {
      wait.until(() -> {
        CompactionState state = admin.getCompactionState(table);
        int files = mostStoreFiles(table);
        return state == CompactionState.NONE && files <= 1 ? ""
            : "table %s is not compacted: state %s, %d files in a region".formatted(table, state, files);
      });
    }
    Stored stored = Stored.of(regions(tables()));
    if (stored.files() == 0 || stored.memstoreMegabytes() > 0) {
      throw new IOException("not all records are in files after a flush: " + stored);
    }
    return stored;
  }

  /** Waits until no compaction is running, and HBase's own flushes write no more files. */
  private Stored awaitIdle(Wait wait) throws Exception {
    Stored[] stored = {Stored.of(regions(tables()))};
    wait.untilQuiet(() -> {
      List<CompactionState> states = new ArrayList<>();
      for (TableName table : tables()) {
        states.add(admin.getCompactionState(table));
      }
      Stored now = Stored.of(regions(tables()));
      boolean same = now.equals(stored[0]) && states.stream().allMatch(CompactionState.NONE::equals);
      stored[0] = now;
      return same ? "" : "compactions or flushes are still running: states %s, %s".formatted(states, now);
    });
    return stored[0];
  }

  /**
   * Waits until the block caches stop growing, because they contain all files or are full.
   *
   * @return size of the block caches of all region servers in bytes
   */
  private long fillCache(Wait wait) throws IOException, InterruptedException {
    long bytes = blockCacheBytes();
    for (Instant grown = Instant.now(); Instant.now().isBefore(grown.plus(FILLED_AFTER));) {
      long now = blockCacheBytes();
      if (now != bytes) {
        bytes = now;
        grown = Instant.now();
      }
      wait.pause("files are still being read into the block cache, which holds %d bytes".formatted(bytes));
    }
    return bytes;
  }

  private long blockCacheBytes() throws IOException {
    long bytes = 0;
    for (ServerMetrics server : admin.getClusterMetrics().getLiveServerMetrics().values()) {
      bytes += pages(server).beans(SERVER_BEAN).get(0).getAsJsonObject().get("blockCacheSize").getAsLong();
    }
    return bytes;
  }

  private int mostStoreFiles(TableName table) throws IOException {
    return regions(List.of(table)).stream().mapToInt(RegionMetrics::getStoreFileCount).max().orElse(0);
  }

  private List<RegionMetrics> regions(List<TableName> tables) throws IOException {
    List<RegionMetrics> regions = new ArrayList<>();
    for (ServerName server : admin.getRegionServers()) {
      for (TableName table : tables) {
        regions.addAll(admin.getRegionMetrics(server, table));
      }
    }
    return regions;
  }

  /** Returns the number of rows of each table, see {@link Admin#countRows}. */
  Map<String, Long> countRows() throws IOException {
    return Admin.countRows(arguments, table -> countRows(TableName.valueOf(table)));
  }

  private long countRows(TableName name) throws IOException {
    Scan scan = new Scan().setFilter(new FilterList(new FirstKeyOnlyFilter(), new KeyOnlyFilter()))
        .setCaching(ROWS_PER_CALL).setCacheBlocks(false);
    long count = 0;
    try (Table table = connection.getTable(name); ResultScanner rows = table.getScanner(scan)) {
      while (rows.next() != null) {
        count++;
      }
    }
    return count;
  }

  List<TableName> tables() {
    return Admin.tables(arguments).stream().map(TableName::valueOf).toList();
  }
}
