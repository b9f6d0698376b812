import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.RegionMetrics;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
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
import org.apache.hbase.thirdparty.com.google.gson.Gson;
import org.apache.hbase.thirdparty.com.google.gson.JsonObject;
import org.apache.hbase.thirdparty.com.google.gson.JsonParser;

/**
 * What Ansible asks of a running HBase, in one short-lived JVM per verb: the jars on Maven Central bring no HBase
 * shell. Called as {@code Verbs VERB key=value…}, with the server's own hbase-site.xml on the classpath; answers with
 * JSON on standard output, or with one line {@code ERROR: …} on standard error and exit code 1.
 */
public final class Verbs {
  private static final int SAMPLED_KEYS = 20_000;

  private final Map<String, String> arguments;

  private Verbs(Map<String, String> arguments) {
    this.arguments = arguments;
  }

  /** Runs one verb: schema, settle or stats. */
  public static void main(String[] words) {
    Map<String, String> arguments = Arrays.stream(words).skip(1).map(word -> word.split("=", 2))
        .collect(Collectors.toMap(pair -> pair[0], pair -> pair[1]));
    int code = 0;
    try (Connection connection = ConnectionFactory.createConnection(HBaseConfiguration.create());
        Admin admin = connection.getAdmin()) {
      Verbs verbs = new Verbs(arguments);
      Map<String, Object> answer = switch (words[0]) {
        case "schema" -> verbs.schema(admin);
        case "settle" -> verbs.settle(connection, admin);
        case "stats" -> verbs.stats();
        default -> throw new IllegalArgumentException("unknown verb " + words[0] + ": schema, settle or stats");
      };
      System.out.println(new Gson().toJson(answer));
    } catch (Exception e) {
      System.err.println("ERROR: HBase, verb " + words[0] + ": " + e);
      code = 1;
    }
    System.exit(code); // the connection's threads would keep the JVM a few seconds longer
  }

  /** Makes the tables, then reads back from the server under which conditions it works. */
  private Map<String, Object> schema(Admin admin) throws IOException {
    ColumnFamilyDescriptor family = ColumnFamilyDescriptorBuilder.newBuilder(Bytes.toBytes(text("family")))
        .setMaxVersions(1)
        .setCompressionType(Compression.Algorithm.valueOf(text("compression").toUpperCase(Locale.ROOT)))
        .setDataBlockEncoding(DataBlockEncoding.valueOf(text("encoding")))
        .build();
    for (TableName name : tables()) {
      TableDescriptor table = TableDescriptorBuilder.newBuilder(name).setColumnFamily(family)
          .setDurability(Durability.valueOf(text("durability"))).build();
      byte[][] splits = splits();
      if (splits.length == 0) {
        admin.createTable(table);
      } else {
        admin.createTable(table, splits);
      }
    }
    return conditions(admin);
  }

  /**
   * Where to split a table so that every region gets as many records as any other. YCSB's keys are "user" and a
   * hash of varying length in decimals, far from even in the order of bytes: so the splits are quantiles of keys that
   * are made, for a sample of the records, in the very way the client makes them.
   */
  private byte[][] splits() {
    int regions = number("regions");
    if (text("keysalt").equals("crc32")) { // two even bytes come first
      return IntStream.range(1, regions).mapToObj(i -> Bytes.toBytes((short) (i * 65536 / regions)))
          .toArray(byte[][]::new);
    }
    long records = Long.parseLong(text("recordcount"));
    boolean hashed = !text("insertorder").equals("ordered");
    int padding = number("zeropadding");
    long samples = Math.min(records, SAMPLED_KEYS);
    List<String> keys = LongStream.range(0, samples).map(i -> i * (records / samples))
        .mapToObj(record -> Long.toString(hashed ? hash(record) : record))
        .map(digits -> "user" + "0".repeat(Math.max(0, padding - digits.length())) + digits)
        .sorted().toList();
    // Ten characters suffice to tell the quantiles apart, and read better in HBase's own pages.
    return IntStream.range(1, regions).mapToObj(i -> keys.get((int) (i * samples / regions)))
        .map(key -> key.substring(0, Math.min(key.length(), Math.max(10, 4 + padding))))
        .distinct().map(Bytes::toBytes).toArray(byte[][]::new);
  }

  /** FNV-1a, 64 bits, as in site.ycsb.Utils.hash, which is what key names are made of. */
  private static long hash(long value) {
    long hash = 0xCBF29CE484222325L;
    for (long rest = value, i = 0; i < 8; i++, rest >>= 8) {
      hash = (hash ^ (rest & 0xff)) * 1099511628211L;
    }
    return Math.abs(hash);
  }

  private Map<String, Object> conditions(Admin admin) throws IOException {
    Configuration running = new Configuration(false);
    running.addResource(get("/conf"));
    JsonObject runtime = bean("java.lang:type=Runtime");
    String jdk = runtime.getAsJsonArray("SystemProperties").asList().stream().map(JsonObject.class::cast)
        .filter(property -> property.get("key").getAsString().equals("java.runtime.version"))
        .map(property -> property.get("value").getAsString()).findAny().orElse("unknown");
    long heap = bean("java.lang:type=Memory").getAsJsonObject("HeapMemoryUsage").get("max").getAsLong();
    List<TableDescriptor> tables = admin.listTableDescriptors(tables());
    List<ColumnFamilyDescriptor> families =
        tables.stream().flatMap(table -> Arrays.stream(table.getColumnFamilies())).toList();
    boolean fsync = running.getBoolean("hbase.wal.hsync", false);
    String fileSystem = running.get("fs.file.impl", "LocalFileSystem").replaceAll(".*\\.", "");
    List<ServerName> servers = admin.getRegionServers().stream().sorted().toList();

    Map<String, Object> conditions = new LinkedHashMap<>();
    conditions.put("version", admin.getClusterMetrics().getHBaseVersion());
    conditions.put("nodes", servers.size());
    // One copy of every file, on the local file system, and one server per region: one, a quorum and all are the same.
    conditions.put("replication", 1);
    conditions.put("write_acks", text("write_acks"));
    conditions.put("read_acks", text("read_acks"));
    conditions.put("durability", fsync ? "disk" : "memory");
    conditions.put("compression", families.stream().map(family -> family.getCompressionType().getName())
        .distinct().sorted().collect(Collectors.joining(", ")));
    conditions.put("heap", heap / (1 << 20) + " MiB");
    conditions.put("jdk", jdk);
    conditions.put("endpoints", servers.stream().map(server -> server.getHostname() + ":" + server.getPort()).toList());
    conditions.put("notes", List.of(
        "1 of 1 copies acknowledge a write, 1 answer a read",
        "write-ahead log: %s, hsync %s, on %s".formatted(tables.stream().map(TableDescriptor::getDurability)
            .map(Object::toString).distinct().collect(Collectors.joining(", ")), fsync, fileSystem),
        "block encoding " + families.stream().map(family -> family.getDataBlockEncoding().toString()).distinct()
            .collect(Collectors.joining(", ")),
        "regions per table: " + tables().stream().map(table -> regions(admin, table)).map(Object::toString).distinct()
            .collect(Collectors.joining(", "))));
    return Map.of("conditions", conditions, "pid", Long.parseLong(runtime.get("Name").getAsString().split("@")[0]));
  }

  private static int regions(Admin admin, TableName table) {
    try {
      return admin.getRegions(table).size();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Flushes and compacts every table to one file per region, then counts the rows. */
  private Map<String, Object> settle(Connection connection, Admin admin) throws Exception {
    Instant start = Instant.now();
    Instant end = start.plusSeconds(number("timeout"));
    for (TableName table : tables()) {
      admin.flush(table);
      admin.majorCompact(table);
    }
    for (TableName table : tables()) {
      while (admin.getCompactionState(table) != CompactionState.NONE || mostStoreFiles(admin, table) > 1) {
        if (Instant.now().isAfter(end)) {
          throw new IOException("table %s is not compacted after %s s: state %s, %d files in a region; raise "
              .formatted(table, text("timeout"), admin.getCompactionState(table), mostStoreFiles(admin, table))
              + "hbase_settle_timeout");
        }
        Thread.sleep(200);
      }
    }
    long seconds = Duration.between(start, Instant.now()).toSeconds();
    Map<String, Long> rows = new LinkedHashMap<>();
    if (Long.parseLong(text("recordcount")) <= number("countlimit")) {
      for (TableName table : tables()) {
        rows.put(table.getNameAsString(), countRows(connection, table));
      }
    }
    return Map.of("seconds", seconds, "rows", rows);
  }

  private static int mostStoreFiles(Admin admin, TableName table) throws IOException {
    int most = 0;
    for (ServerName server : admin.getRegionServers()) {
      for (RegionMetrics region : admin.getRegionMetrics(server, table)) {
        most = Math.max(most, region.getStoreFileCount());
      }
    }
    return most;
  }

  private static long countRows(Connection connection, TableName name) throws IOException {
    Scan scan = new Scan().setFilter(new FilterList(new FirstKeyOnlyFilter(), new KeyOnlyFilter()))
        .setCaching(10_000).setCacheBlocks(false);
    long count = 0;
    try (Table table = connection.getTable(name); ResultScanner rows = table.getScanner(scan)) {
      while (rows.next() != null) {
        count++;
      }
    }
    return count;
  }

  /** Writes the server's own view of itself into files of the given folder. */
  private Map<String, Object> stats() throws IOException {
    Path folder = Path.of(text("folder"));
    Files.createDirectories(folder);
    for (String page : List.of("jmx", "prometheus", "conf")) {
      try (InputStream in = get("/" + page)) {
        Files.copy(in, folder.resolve("stats-" + page + ".txt"), StandardCopyOption.REPLACE_EXISTING);
      }
    }
    return Map.of("files", 3);
  }

  private JsonObject bean(String name) throws IOException {
    try (InputStream in = get("/jmx?qry=" + name)) {
      String json = new String(in.readAllBytes(), StandardCharsets.UTF_8);
      return JsonParser.parseString(json).getAsJsonObject().getAsJsonArray("beans").get(0).getAsJsonObject();
    }
  }

  private InputStream get(String page) throws IOException {
    return URI.create(text("info") + page).toURL().openStream();
  }

  private List<TableName> tables() {
    return Arrays.stream(text("tables").split(",")).map(TableName::valueOf).toList();
  }

  private String text(String key) {
    String value = arguments.get(key);
    if (value == null) {
      throw new IllegalArgumentException("argument " + key + "=… is missing");
    }
    return value;
  }

  private int number(String key) {
    return Integer.parseInt(text(key));
  }
}
