package dohyo.cassandra.admin;

import dohyo.admin.Admin;
import dohyo.admin.Wait;
import dohyo.binding.Settings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.management.JMException;
import org.codehaus.jackson.map.ObjectMapper;

/**
 * Administers a running Cassandra, from 3.11 to 5.0, over CQL and JMX. Arguments in addition to those of {@link
 * CqlAdmin}: jmx, the port on this host; log, the path of the server's log, from which the settings of 3.11 are read;
 * timeout, in seconds; folder, to which the statistics are written.
 */
public final class CassandraAdmin {
  // Metrics that may explain a result. The list is short, because each metric takes one request after every run.
  private static final List<String> METRICS = List.of("ClientRequest,scope=Read,*", "ClientRequest,scope=Write,*",
      "ClientRequest,scope=RangeSlice,*", "Compaction,*", "ThreadPools,name=PendingTasks,*",
      "ThreadPools,name=TotalBlockedTasks,*", "CommitLog,*", "Cache,scope=KeyCache,*", "Cache,scope=ChunkCache,*",
      "DroppedMessage,name=Dropped,*", "Storage,*");
  private static final List<String> TABLE_METRICS = List.of("ReadLatency", "WriteLatency", "RangeLatency",
      "LiveSSTableCount", "SSTablesPerReadHistogram", "LiveDiskSpaceUsed", "TotalDiskSpaceUsed", "CompressionRatio",
      "PendingCompactions", "CompactionBytesWritten", "PendingFlushes", "BytesFlushed", "MemtableSwitchCount",
      "MemtableLiveDataSize", "WaitingOnFreeMemtableSpace", "TombstoneScannedHistogram", "BloomFilterFalseRatio",
      "KeyCacheHitRate", "MaxPartitionSize", "SpeculativeRetries");

  private CassandraAdmin() {
  }

  /** Runs one verb: ready, user, schema, settle, count, drop or stats. */
  public static void main(String[] args) {
    Admin.main("Cassandra", Map.of("ready", CassandraAdmin::ready, "user", CassandraAdmin::user, "schema",
        CassandraAdmin::schema, "settle", CassandraAdmin::settle, "count", CqlAdmin::count, "drop",
        CassandraAdmin::drop, "stats", CassandraAdmin::stats), args);
  }

  /** Fails unless this node sees all nodes with their tokens. The message says how many it sees. */
  private static Map<String, ?> ready(Settings arguments) throws IOException, JMException {
    int nodes = arguments.number("nodes", 1, 1, Integer.MAX_VALUE);
    try (ServerJvm jvm = jvm(arguments)) {
      int live = jvm.nodesInRing();
      if (live < nodes) {
        throw new IOException("this node sees %d of %d nodes".formatted(live, nodes));
      }
      return Map.of("nodes", live);
    }
  }

  /** Replaces the default user, see {@link CqlAdmin#replaceDefaultUser}. A repair must then copy the users. */
  private static Map<String, ?> user(Settings arguments) throws IOException {
    CqlAdmin.replaceDefaultUser(arguments);
    return Map.of();
  }

  /** Creates the keyspace and the tables, then reads the conditions back from the server. */
  private static Map<String, ?> schema(Settings arguments) throws IOException {
    try (CqlAdmin cql = new CqlAdmin(arguments); ServerJvm jvm = jvm(arguments)) {
      cql.createTables();
      Map<String, Object> conditions = cql.conditions();
      Map<String, String> settings = conditions.get("version").toString().startsWith("3.")
          ? loggedSettings(Path.of(arguments.required("log"))) : cql.settings("system_views.settings");
      String sync = settings.get("commitlog_sync");
      String durability = CqlAdmin.durability(settings);
      conditions.put("durability", durability);
      conditions.putAll(jvm.conditions());
      // Report the requested settings with the server's values, except settings that the server does not list.
      conditions.put("server_settings", Arrays.stream(arguments.text("settings", "").split(","))
          .filter(settings::containsKey).collect(Collectors.toMap(Function.identity(), settings::get)));
      conditions.put("notes", Stream.concat(protection(settings), Stream.of(
          "commit log: " + sync + (durability.equals("memory") ? " every " + period(settings) : ""),
          "memtable: " + settings.getOrDefault("memtable.configurations", "default=skiplist")
              .replaceAll(".*default=(\\w*).*", "$1"),
          "tokens per node: " + settings.get("num_tokens"),
          "sstable format: " + settings.getOrDefault("sstable.selected_format", "big"),
          "compaction: " + cql.compaction(), cql.chunks(), cql.cachedRows())).filter(note -> !note.isEmpty()).toList());
      return Map.of("conditions", conditions, "pid", jvm.pid());
    }
  }

  private static Stream<String> protection(Map<String, String> settings) {
    return CqlAdmin.protection(settings.getOrDefault("authenticator", ""),
        settings.getOrDefault("client_encryption_options.enabled", "").equals("true"),
        settings.getOrDefault("server_encryption_options.internode_encryption", "").equals("all"));
  }

  /**
   * Returns the sync period of the commit log with its unit. Since 4.1 the setting's value contains the unit; before
   * that, its name did.
   */
  private static String period(Map<String, String> settings) {
    String millis = settings.get("commitlog_sync_period_in_ms");
    return settings.getOrDefault("commitlog_sync_period", millis + "ms");
  }

  /** Reads the settings from the log of 3.11: {@code … Node configuration:[name=value; name=value; …]}. */
  private static Map<String, String> loggedSettings(Path log) throws IOException {
    try (Stream<String> lines = Files.lines(log)) {
      String settings = lines.filter(line -> line.contains("Node configuration:[")).findFirst()
          .orElseThrow(() -> new IOException(log + " has no line \"Node configuration\""))
          .replaceAll(".*Node configuration:\\[(.*)\\].*", "$1");
      return Arrays.stream(settings.split("; ")).map(setting -> setting.split("=", 2))
          .filter(setting -> setting.length == 2)
          .collect(Collectors.toMap(setting -> setting[0], setting -> setting[1], (first, second) -> first));
    }
  }

  /**
   * Flushes unless flush=false. Waits until no compaction is pending or active, or until compactions make no progress.
   * Then counts the rows.
   */
  private static Map<String, ?> settle(Settings arguments) throws Exception {
    Wait wait = new Wait(arguments, "cassandra_settle_timeout");
    boolean flush = arguments.flag("flush", true);
    long files;
    long memtableBytes;
    String left;
    try (ServerJvm jvm = jvm(arguments)) {
      String keyspace = arguments.required("keyspace");
      if (flush) {
        jvm.flush(keyspace);
      }
      left = wait.untilQuietOrStalled(() -> {
        int pending = jvm.pendingCompactions();
        List<Long> active = jvm.activeCompactions();
        return new Wait.Work(pending + active.size(), active.stream().mapToLong(Long::longValue).sum(),
            "%d compactions pending and %d active".formatted(pending, active.size()));
      });
      files = jvm.ofTables(keyspace, "LiveSSTableCount");
      memtableBytes = jvm.ofTables(keyspace, "MemtableLiveDataSize");
    }
    long seconds = wait.seconds();
    try (CqlAdmin cql = new CqlAdmin(arguments)) {
      return Map.of("seconds", seconds, "rows", cql.countRows(), "flushed", flush, "sstables", files,
          "memtable_mb", memtableBytes >> 20, "notes", Stream.of(flush ? "" : unflushed(files), left.isEmpty() ? ""
              : "not settled: %s, without progress for %d s (cassandra_settle_timeout)".formatted(left,
                  wait.timeout().toSeconds())).filter(note -> !note.isEmpty()).toList());
    }
  }

  private static String unflushed(long files) {
    return "settle.flush=false: " + (files == 0 ? "all records are in memtables, none in SSTables"
        : "full memtables became " + files + " SSTables; raise cassandra_heap, or load less");
  }

  /**
   * Empties the key cache and the row cache of this node. The chunk cache cannot be emptied, so its size is reported.
   */
  private static Map<String, ?> drop(Settings arguments) throws IOException, JMException {
    try (ServerJvm jvm = jvm(arguments)) {
      jvm.dropCaches();
      long chunks = jvm.chunkCacheBytes();
      return Map.of("chunk_cache_mb", chunks >> 20, "notes", List.of(
          "settle.cache=drop: key cache and row cache were emptied"
              + (chunks == 0 ? "" : "; only a restart empties the chunk cache")));
    }
  }

  /** Writes the metrics of this host's server to a file in the given folder. */
  private static Map<String, ?> stats(Settings arguments) throws IOException, JMException {
    String ofTable = "Table,keyspace=" + arguments.required("keyspace") + ",name=";
    List<String> metrics = Stream.concat(METRICS.stream(), TABLE_METRICS.stream().map(name -> ofTable + name + ",*"))
        .map(name -> "org.apache.cassandra.metrics:type=" + name).toList();
    try (ServerJvm jvm = jvm(arguments)) {
      Map<String, ?> found = jvm.metrics(metrics);
      Files.writeString(Admin.folder(arguments).resolve("stats-metrics.json"),
          new ObjectMapper().writerWithDefaultPrettyPrinter().writeValueAsString(found));
      return Map.of("metrics", found.size());
    }
  }

  private static ServerJvm jvm(Settings arguments) throws IOException {
    return new ServerJvm(arguments.number("jmx", 7199, 1, 65535));
  }
}
