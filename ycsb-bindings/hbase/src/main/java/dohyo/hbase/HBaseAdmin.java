package dohyo.hbase;

import dohyo.admin.Admin;
import dohyo.binding.Settings;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.RegionMetrics;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptor;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.CompactionState;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Durability;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptor;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.filter.FilterList;
import org.apache.hadoop.hbase.filter.FirstKeyOnlyFilter;
import org.apache.hadoop.hbase.filter.KeyOnlyFilter;
import org.apache.hadoop.hbase.io.compress.Compression;
import org.apache.hadoop.hbase.io.encoding.DataBlockEncoding;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * What Ansible asks of a running HBase 2: arguments are the binding's own properties (hbase.zookeeper.quorum, …), info
 * (address of a region server's web pages), tables, recordcount, and what each verb reads below.
 */
public final class HBaseAdmin implements AutoCloseable {
  /** A bound for single calls, which each end by themselves far sooner. */
  private static final long CALL_MILLIS = 120_000;
  private static final long LOOK_MILLIS = 200;
  private static final int ROWS_PER_CALL = 10_000;

  private final Settings arguments;
  private final Connection connection;
  private final org.apache.hadoop.hbase.client.Admin admin;

  private HBaseAdmin(Settings arguments) throws IOException {
    this.arguments = arguments;
    connection = ConnectionFactory.createConnection(SharedConnection.configuration(arguments, CALL_MILLIS));
    admin = connection.getAdmin();
  }

  @Override
  public void close() throws IOException {
    connection.close();
  }

  /** Runs one verb: schema, settle or stats. */
  public static void main(String[] words) {
    Admin.main("HBase", Map.of("schema", HBaseAdmin::schema, "settle", HBaseAdmin::settle, "stats", HBaseAdmin::stats),
        words);
  }

  /** Makes the tables, then reads back from the server under which conditions it works. */
  private static Map<String, ?> schema(Settings arguments) throws IOException {
    try (HBaseAdmin hbase = new HBaseAdmin(arguments)) {
      hbase.createTables();
      InfoPages pages = new InfoPages(arguments.required("info"));
      return Map.of("conditions", hbase.conditions(pages), "pid", pages.pid());
    }
  }

  /** Flushes and compacts every table to one file per region, then counts the rows. */
  private static Map<String, ?> settle(Settings arguments) throws Exception {
    try (HBaseAdmin hbase = new HBaseAdmin(arguments)) {
      Instant start = Instant.now();
      hbase.compact(start.plusSeconds(arguments.number("timeout", 1800, 1, Integer.MAX_VALUE)));
      long seconds = Duration.between(start, Instant.now()).toSeconds();
      return Map.of("seconds", seconds, "rows", hbase.countRows());
    }
  }

  /** Writes the server's own view of itself into files of the given folder. */
  private static Map<String, ?> stats(Settings arguments) throws IOException {
    InfoPages pages = new InfoPages(arguments.required("info"));
    for (String page : List.of("jmx", "prometheus", "conf")) {
      pages.save(page, Path.of(arguments.required("folder"), "stats-" + page + ".txt"));
    }
    return Map.of();
  }

  private void createTables() throws IOException {
    ColumnFamilyDescriptor family = ColumnFamilyDescriptorBuilder
        .newBuilder(Bytes.toBytes(arguments.required("family")))
        .setMaxVersions(1)
        .setCompressionType(Compression.Algorithm.valueOf(arguments.required("compression").toUpperCase(Locale.ROOT)))
        .setDataBlockEncoding(DataBlockEncoding.valueOf(arguments.required("encoding")))
        .build();
    byte[][] splits = RegionSplits.of(arguments);
    for (TableName name : tables()) {
      TableDescriptor table = TableDescriptorBuilder.newBuilder(name).setColumnFamily(family)
          .setDurability(Durability.valueOf(arguments.required("durability"))).build();
      if (splits.length == 0) {
        admin.createTable(table);
      } else {
        admin.createTable(table, splits);
      }
    }
  }

  private Map<String, Object> conditions(InfoPages pages) throws IOException {
    Configuration running = pages.configuration();
    List<TableDescriptor> tables = admin.listTableDescriptors(tables());
    boolean fsync = running.getBoolean("hbase.wal.hsync", false);
    String fileSystem = running.get("fs.file.impl", "LocalFileSystem").replaceAll(".*\\.", "");
    List<ServerName> servers = admin.getRegionServers().stream().sorted().toList();

    Map<String, Object> conditions = new LinkedHashMap<>(pages.conditions());
    conditions.put("version", admin.getClusterMetrics().getHBaseVersion());
    conditions.put("nodes", servers.size());
    // One copy of every file, on the local file system, and one server per region: one, a quorum and all are the same.
    conditions.put("replication", 1);
    conditions.put("write_acks", arguments.required("write_acks"));
    conditions.put("read_acks", arguments.required("read_acks"));
    conditions.put("write_copies", 1);
    conditions.put("read_copies", 1);
    conditions.put("durability", fsync ? "disk" : "memory");
    conditions.put("compression", families(tables, family -> family.getCompressionType().getName()));
    conditions.put("endpoints", servers.stream().map(server -> server.getHostname() + ":" + server.getPort()).toList());
    conditions.put("notes", List.of(
        "write-ahead log: %s, hsync %s, on %s".formatted(distinct(tables.stream().map(TableDescriptor::getDurability)),
            fsync, fileSystem),
        "block encoding " + families(tables, ColumnFamilyDescriptor::getDataBlockEncoding),
        "regions per table: " + distinct(tables().stream().map(this::regions))));
    return conditions;
  }

  private static String families(List<TableDescriptor> tables, Function<ColumnFamilyDescriptor, Object> property) {
    return distinct(tables.stream().flatMap(table -> Arrays.stream(table.getColumnFamilies())).map(property));
  }

  private static String distinct(Stream<?> values) {
    return values.map(Object::toString).distinct().sorted().collect(Collectors.joining(", "));
  }

  private int regions(TableName table) {
    try {
      return admin.getRegions(table).size();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void compact(Instant end) throws IOException, InterruptedException {
    for (TableName table : tables()) {
      admin.flush(table);
      admin.majorCompact(table);
    }
    for (TableName table : tables()) {
      while (admin.getCompactionState(table) != CompactionState.NONE || mostStoreFiles(table) > 1) {
        if (Instant.now().isAfter(end)) {
          throw new IOException("table %s is not compacted after %s s: state %s, %d files in a region; raise "
              .formatted(table, arguments.required("timeout"), admin.getCompactionState(table), mostStoreFiles(table))
              + "hbase_settle_timeout");
        }
        Thread.sleep(LOOK_MILLIS);
      }
    }
  }

  private int mostStoreFiles(TableName table) throws IOException {
    int most = 0;
    for (ServerName server : admin.getRegionServers()) {
      for (RegionMetrics region : admin.getRegionMetrics(server, table)) {
        most = Math.max(most, region.getStoreFileCount());
      }
    }
    return most;
  }

  /** Rows by table; none where more were loaded than is worth counting. */
  private Map<String, Long> countRows() throws IOException {
    Map<String, Long> rows = new LinkedHashMap<>();
    long records = arguments.whole("recordcount", 0, 0, Long.MAX_VALUE);
    if (records <= arguments.whole("countlimit", 0, 0, Long.MAX_VALUE)) {
      for (TableName table : tables()) {
        rows.put(table.getNameAsString(), countRows(table));
      }
    }
    return rows;
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

  private List<TableName> tables() {
    return Arrays.stream(arguments.required("tables").split(",")).map(TableName::valueOf).toList();
  }
}
