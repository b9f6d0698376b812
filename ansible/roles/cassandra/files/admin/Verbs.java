import com.datastax.driver.core.Cluster;
import com.datastax.driver.core.ConsistencyLevel;
import com.datastax.driver.core.KeyspaceMetadata;
import com.datastax.driver.core.Row;
import com.datastax.driver.core.Session;
import com.datastax.driver.core.SimpleStatement;
import com.datastax.driver.core.SocketOptions;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.lang.management.RuntimeMXBean;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.cassandra.tools.INodeProbeFactory;
import org.apache.cassandra.tools.NodeProbe;
import org.apache.cassandra.tools.NodeTool;
import org.apache.cassandra.tools.Output;

/**
 * What Ansible asks of a running Cassandra, in one short-lived JVM per verb: the jars on Maven Central bring neither
 * cqlsh nor a shell script. Called as {@code Verbs VERB key=value…}; answers with JSON on standard output, or with one
 * line {@code ERROR: …} on standard error and exit code 1.
 */
public final class Verbs {
  private final Map<String, String> arguments;

  private Verbs(Map<String, String> arguments) {
    this.arguments = arguments;
  }

  /** Runs one verb: schema, settle or stats. */
  public static void main(String[] words) {
    Map<String, String> arguments = Arrays.stream(words).skip(1).map(word -> word.split("=", 2))
        .collect(Collectors.toMap(pair -> pair[0], pair -> pair[1]));
    Verbs verbs = new Verbs(arguments);
    int code = 0;
    try {
      Map<String, Object> answer = switch (words[0]) {
        case "schema" -> verbs.schema();
        case "settle" -> verbs.settle();
        case "stats" -> verbs.stats();
        default -> throw new IllegalArgumentException("unknown verb " + words[0] + ": schema, settle or stats");
      };
      System.out.println(new ObjectMapper().writeValueAsString(answer));
    } catch (Exception e) {
      System.err.println("ERROR: Cassandra at " + arguments.get("host") + ", verb " + words[0] + ": " + e);
      code = 1;
    }
    System.exit(code); // the driver's and JMX's threads would keep the JVM a few seconds longer
  }

  /** Makes the keyspace and the tables, then reads back from the server under which conditions it works. */
  private Map<String, Object> schema() throws IOException {
    try (Cluster cluster = connect(); Session session = cluster.connect(); NodeProbe probe = probe()) {
      String keyspace = text("keyspace");
      String strategy = text("strategy");
      String copies = strategy.equals("SimpleStrategy") ? "replication_factor"
          : cluster.getMetadata().getAllHosts().iterator().next().getDatacenter();
      session.execute("CREATE KEYSPACE IF NOT EXISTS %s WITH replication = {'class': '%s', '%s': %d}"
          .formatted(keyspace, strategy, copies, number("replication")));
      String columns = IntStream.range(0, number("fieldcount"))
          .mapToObj(field -> "field" + field + " " + text("columntype")).collect(Collectors.joining(", "));
      for (String table : tables()) {
        session.execute("CREATE TABLE IF NOT EXISTS %s.%s (y_id %s PRIMARY KEY, %s) WITH compression = %s"
                .formatted(keyspace, table, text("keytype"), columns, compressionOption())
            + " AND compaction = {'class': '%s'}".formatted(text("compaction")));
      }
      return conditions(cluster, session, probe);
    }
  }

  private String compressionOption() {
    String compressor = switch (text("compression")) {
      case "none" -> null;
      case "lz4" -> "LZ4Compressor";
      case "zstd" -> "ZstdCompressor";
      case "gz" -> "DeflateCompressor";
      default -> throw new IllegalArgumentException("compression " + text("compression") + ": none, lz4, zstd or gz");
    };
    return compressor == null ? "{'enabled': 'false'}" : "{'class': '" + compressor + "'}";
  }

  private Map<String, Object> conditions(Cluster cluster, Session session, NodeProbe probe) throws IOException {
    String keyspace = text("keyspace");
    KeyspaceMetadata metadata = cluster.getMetadata().getKeyspace(keyspace);
    int replication = metadata.getReplication().entrySet().stream().filter(entry -> !entry.getKey().equals("class"))
        .mapToInt(entry -> Integer.parseInt(entry.getValue())).sum();
    Map<String, String> settings = session.execute("SELECT name, value FROM system_views.settings").all().stream()
        .filter(row -> !row.isNull("value"))
        .collect(Collectors.toMap(row -> row.getString("name"), row -> row.getString("value")));
    var runtime = ManagementFactory.newPlatformMXBeanProxy(
        probe.getMbeanServerConn(), ManagementFactory.RUNTIME_MXBEAN_NAME, RuntimeMXBean.class);
    long heap = probe.getHeapMemoryUsage().getMax();
    String durability = durability(settings.get("commitlog_sync"));

    Map<String, Object> conditions = new LinkedHashMap<>();
    conditions.put("version",
        session.execute("SELECT release_version FROM system.local").one().getString("release_version"));
    conditions.put("nodes", cluster.getMetadata().getAllHosts().size());
    conditions.put("replication", replication);
    conditions.put("write_acks", text("write_acks"));
    conditions.put("read_acks", text("read_acks"));
    conditions.put("durability", durability);
    conditions.put("compression", compressionInUse(session, keyspace));
    conditions.put("heap", heap / (1 << 20) + " MiB");
    conditions.put("jdk", runtime.getSystemProperties().get("java.runtime.version"));
    conditions.put("endpoints", cluster.getMetadata().getAllHosts().stream()
        .map(host -> host.getEndPoint().resolve()).map(InetSocketAddress.class::cast)
        .map(address -> address.getAddress().getHostAddress() + ":" + address.getPort()).sorted().toList());
    conditions.put("notes", List.of(
        "%d of %d copies acknowledge a write, %d answer a read".formatted(
            copies("write_acks", replication), replication, copies("read_acks", replication)),
        "commit log: " + settings.get("commitlog_sync")
            + (durability.equals("memory") ? " every " + settings.get("commitlog_sync_period") : ""),
        "memtable: " + settings.getOrDefault("memtable.configurations", "").replaceAll(".*default=(\\w*).*", "$1"),
        "sstable format: " + settings.getOrDefault("sstable.selected_format", "big"),
        "compaction: " + compactionInUse(session, keyspace)));
    return Map.of("conditions", conditions, "pid", Long.parseLong(runtime.getName().split("@")[0]));
  }

  /** How many copies must answer: the consistency level that the client sends with every request. */
  private int copies(String which, int replication) {
    return switch (ConsistencyLevel.valueOf(text(which).toUpperCase(Locale.ROOT))) {
      case ONE, LOCAL_ONE -> 1;
      case QUORUM, LOCAL_QUORUM -> replication / 2 + 1;
      default -> replication;
    };
  }

  private static String durability(String commitlogSync) {
    return switch (commitlogSync) {
      case "periodic" -> "memory"; // acknowledged before the log is on disk
      case "batch", "group" -> "disk"; // acknowledged after fsync
      default -> commitlogSync;
    };
  }

  private static String compressionInUse(Session session, String keyspace) {
    return session.execute("SELECT table_name, compression FROM system_schema.tables WHERE keyspace_name = ?", keyspace)
        .all().stream().map(Verbs::compressionOf).distinct().sorted().collect(Collectors.joining(", "));
  }

  private static String compactionInUse(Session session, String keyspace) {
    return session.execute("SELECT compaction FROM system_schema.tables WHERE keyspace_name = ?", keyspace).all()
        .stream().map(row -> row.getMap("compaction", String.class, String.class).get("class"))
        .map(name -> name.replaceAll(".*\\.", "")).distinct().sorted().collect(Collectors.joining(", "));
  }

  private static String compressionOf(Row table) {
    Map<String, String> options = table.getMap("compression", String.class, String.class);
    if (!Boolean.parseBoolean(options.getOrDefault("enabled", "true")) || !options.containsKey("class")) {
      return "none";
    }
    String name = options.get("class").replaceAll(".*\\.", "");
    return switch (name) {
      case "LZ4Compressor" -> "lz4";
      case "ZstdCompressor" -> "zstd";
      case "DeflateCompressor" -> "gz";
      default -> name;
    };
  }

  /** Flushes, waits until no compaction is pending or active, then counts the rows. */
  private Map<String, Object> settle() throws Exception {
    Instant start = Instant.now();
    try (NodeProbe probe = probe(); Cluster cluster = connect(); Session session = cluster.connect()) {
      probe.forceKeyspaceFlush(text("keyspace"));
      Instant end = start.plusSeconds(number("timeout"));
      for (int quiet = 0; quiet < 3; Thread.sleep(200)) { // a flush needs a moment to hand in its compaction
        int pending = ((Number) probe.getCompactionMetric("PendingTasks")).intValue();
        int active = probe.getCompactionManagerProxy().getCompactions().size();
        quiet = pending + active == 0 ? quiet + 1 : 0;
        if (Instant.now().isAfter(end)) {
          throw new IOException("%d compactions pending and %d active after %s s; raise cassandra_settle_timeout"
              .formatted(pending, active, text("timeout")));
        }
      }
      long seconds = Duration.between(start, Instant.now()).toSeconds();
      return Map.of("seconds", seconds, "rows", countRows(session));
    }
  }

  /** Rows by table, read in slices of the token ring so that no single query runs into the server's timeout. */
  private Map<String, Long> countRows(Session session) {
    Map<String, Long> rows = new LinkedHashMap<>();
    if (number("countlimit") < Long.parseLong(text("recordcount"))) {
      return rows;
    }
    long width = 1L << 58; // 2^64 tokens in 64 slices
    for (String table : tables()) {
      long count = 0;
      for (int slice = 0; slice < 64; slice++) {
        long first = Long.MIN_VALUE + slice * width;
        count += session.execute(new SimpleStatement(
            "SELECT count(*) FROM %s.%s WHERE token(y_id) >= %d AND token(y_id) <= %d"
                .formatted(text("keyspace"), table, first, first + width - 1))).one().getLong(0);
      }
      rows.put(table, count);
    }
    return rows;
  }

  /** Writes the server's own view of itself into files of the given folder. */
  private Map<String, Object> stats() throws IOException {
    Path folder = Path.of(text("folder"));
    Files.createDirectories(folder);
    List<String> files = new ArrayList<>();
    for (List<String> command : List.of(List.of("tablestats", text("keyspace")), List.of("tpstats"), List.of("info"),
        List.of("gcstats"), List.of("compactionstats"), List.of("proxyhistograms"))) {
      Path file = folder.resolve("stats-" + command.get(0) + ".txt");
      try (PrintStream out = new PrintStream(Files.newOutputStream(file), false, StandardCharsets.UTF_8)) {
        List<String> line = new ArrayList<>(List.of("-h", "127.0.0.1", "-p", text("jmx")));
        line.addAll(command);
        new NodeTool(new Probes(), new Output(out, out)).execute(line.toArray(String[]::new));
      }
      files.add(file.getFileName().toString());
    }
    return Map.of("files", files);
  }

  private Cluster connect() {
    return Cluster.builder().addContactPoint(text("host")).withPort(number("port")).withoutMetrics()
        .withoutJMXReporting().withSocketOptions(
            new SocketOptions().setConnectTimeoutMillis(20_000).setReadTimeoutMillis(120_000))
        .build();
  }

  private NodeProbe probe() throws IOException {
    return new NodeProbe("127.0.0.1", number("jmx")); // JMX never leaves the host
  }

  private List<String> tables() {
    return List.of(text("tables").split(","));
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

  /** NodeTool's own factory is not public. */
  private static final class Probes implements INodeProbeFactory {
    @Override
    public NodeProbe create(String host, int port) throws IOException {
      return new NodeProbe(host, port);
    }

    @Override
    public NodeProbe create(String host, int port, String username, String password) throws IOException {
      return new NodeProbe(host, port, username, password);
    }
  }
}
