package dohyo.scylla.admin;

import dohyo.admin.Admin;
import dohyo.admin.Wait;
import dohyo.binding.Settings;
import dohyo.cassandra.admin.CqlAdmin;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * Administers a running ScyllaDB over CQL and the node's HTTP pages. Arguments in addition to those of {@link
 * CqlAdmin}: api and prometheus, addresses of the pages as host:port; pidfile, a file with the server's process id;
 * timeout, in seconds; folder, to which the statistics are written.
 */
public final class ScyllaAdmin {
  private static final Duration DROP_TIMEOUT = Duration.ofMinutes(10);
  private static final Duration REPAIR_TIMEOUT = Duration.ofMinutes(1);
  /** Path of the request that waits until tablets have moved. It was added in 6.0. */
  private static final String QUIESCE = "/storage_service/quiesce_topology";
  /** Pages of the node's REST interface that are stored in the evidence. The keys are file names. */
  private static final Map<String, String> REPORTS = Map.of(
      "stats-load.json", "/storage_service/load",
      "stats-compactions.json", "/compaction_manager/compactions",
      "stats-reads.json", "/storage_proxy/metrics/read/moving_average_histogram",
      "stats-writes.json", "/storage_proxy/metrics/write/moving_average_histogram");

  private ScyllaAdmin() {
  }

  /** Runs one verb: ready, user, schema, settle, count, drop or stats. */
  public static void main(String[] args) {
    Admin.main("ScyllaDB", Map.of("ready", ScyllaAdmin::ready, "user", ScyllaAdmin::user, "schema", ScyllaAdmin::schema,
        "settle", ScyllaAdmin::settle, "count", CqlAdmin::count, "drop", ScyllaAdmin::drop, "stats",
        ScyllaAdmin::stats), args);
  }

  /** Fails unless this node sees all nodes. The message lists the nodes that it sees. */
  private static Map<String, ?> ready(Settings arguments) throws IOException {
    int nodes = arguments.number("nodes", 1, 1, Integer.MAX_VALUE);
    // The page is a list of addresses, such as ["10.0.0.1","10.0.0.2"].
    String live = api(arguments).get("/gossiper/endpoint/live").strip();
    if (live.split("\"").length / 2 < nodes) {
      throw new IOException("this node sees %s, but should see %d nodes".formatted(live, nodes));
    }
    return Map.of("nodes", live);
  }

  /**
   * Fails until the user in the connection file can log in on every node. Since 5.4, the server creates this user from
   * its settings. In older versions the user replaces the default user, see {@link CqlAdmin#replaceDefaultUser}.
   */
  private static Map<String, ?> user(Settings arguments) throws IOException {
    Optional<String> keyspace = CqlAdmin.replaceDefaultUser(arguments);
    if (keyspace.isPresent()) {
      WebPages api = api(arguments);
      String repair = api.post("/storage_service/repair_async/" + keyspace.get(), REPAIR_TIMEOUT).strip();
      String status = api.get("/storage_service/repair_status/?id=" + repair).strip();
      if (!status.equals("\"SUCCESSFUL\"")) {
        throw new IOException("the repair of " + keyspace.get() + " has the status " + status);
      }
    }
    return Map.of();
  }

  /** Creates the keyspace and the tables, then reads the conditions back from the server. */
  private static Map<String, ?> schema(Settings arguments) throws IOException {
    try (CqlAdmin cql = new CqlAdmin(arguments)) {
      cql.createTables();
      // Remove the quotes, because the values are JSON.
      Map<String, String> settings = cql.settings("system.config");
      settings.replaceAll((name, value) -> value.replaceAll("^\"|\"$", ""));
      String sync = settings.get("commitlog_sync");
      long pid = Admin.pid(arguments, "pidfile");
      CommandLine line = new CommandLine(List.of(Files.readString(Path.of("/proc/" + pid + "/cmdline")).split("\0")));
      String durability = CqlAdmin.durability(settings);
      Memory memory = Memory.of(metrics(arguments));

      Map<String, Object> conditions = cql.conditions();
      conditions.put("durability", durability.equals("disk") && !line.forcesToDisk() ? "memory" : durability);
      conditions.put("memory", memory.megabytes() + " MiB");
      conditions.put("notes", Stream.of(CqlAdmin.protection(settings), Stream.of(
          "commit log: " + sync
              + (sync.equals("periodic") ? " every " + settings.get("commitlog_sync_period_in_ms") + "ms" : ""),
          "shards per node: " + memory.shards(),
          "compaction: " + cql.compaction()), cql.scyllaNotes(settings), fileSystems(settings), line.notes().stream())
          .flatMap(notes -> notes).toList());
      return Map.of("conditions", conditions, "pid", pid);
    }
  }

  /** Returns a note on file systems that the vendor's manual does not allow in production. */
  private static Stream<String> fileSystems(Map<String, String> settings) throws IOException {
    Set<String> types = new TreeSet<>();
    // The first value is a list, such as ["/data"], which contains the one folder that Dohyo sets.
    for (String folder : List.of("data_file_directories", "commitlog_directory")) {
      types.add(Files.getFileStore(Path.of(settings.get(folder).replaceAll("[\\[\\]\"]", ""))).type());
    }
    return types.equals(Set.of("xfs")) ? Stream.of()
        : Stream.of("data on " + String.join(" and ", types) + ": ScyllaDB requires XFS in production");
  }

  /**
   * Flushes unless flush=false. Waits until no tablet moves and no compaction is pending or running. Then counts the
   * rows.
   */
  private static Map<String, ?> settle(Settings arguments) throws Exception {
    Wait wait = new Wait(arguments, "scylla_settle_timeout");
    WebPages api = api(arguments);
    boolean flush = arguments.flag("flush", true);
    if (flush) {
      api.post("/storage_service/keyspace_flush/" + arguments.required("keyspace"), wait.timeout());
    }
    // This request returns when all moves that have begun are over. Version 2026.3 also waits for planned moves.
    boolean hasTopology = api.postIfKnown(QUIESCE, wait.timeout());
    wait.untilQuiet(() -> {
      if (hasTopology) {
        api.post(QUIESCE, wait.timeout());
      }
      String pending = api.get("/compaction_manager/metrics/pending_tasks").strip();
      String running = api.get("/compaction_manager/compactions").strip();
      return pending.equals("0") && running.equals("[]") ? ""
          : "compactions pending %s, running %s".formatted(pending, running);
    });
    long seconds = wait.seconds();
    try (CqlAdmin cql = new CqlAdmin(arguments)) {
      return Map.of("seconds", seconds, "rows", cql.countRows(), "flushed", flush, "notes", flush ? List.of()
          : List.of("settle.flush=false: records that ScyllaDB has not flushed by itself are in memtables"));
    }
  }

  /** Empties the row cache and the cache of SSTable indexes of this node. */
  private static Map<String, ?> drop(Settings arguments) throws IOException {
    api(arguments).post("/system/drop_sstable_caches", DROP_TIMEOUT);
    return Map.of("notes", List.of("settle.cache=drop: the row cache was emptied"));
  }

  /** Writes the server's statistics to files in the given folder. */
  private static Map<String, ?> stats(Settings arguments) throws IOException {
    Path folder = Admin.folder(arguments);
    Files.writeString(folder.resolve("stats-metrics.txt"), metrics(arguments));
    for (Map.Entry<String, String> report : REPORTS.entrySet()) {
      Files.writeString(folder.resolve(report.getKey()), api(arguments).get(report.getValue()));
    }
    return Map.of("files", REPORTS.size() + 1);
  }

  private static WebPages api(Settings arguments) {
    return new WebPages(arguments.required("api"));
  }

  private static String metrics(Settings arguments) throws IOException {
    return new WebPages(arguments.required("prometheus")).get("/metrics");
  }
}
