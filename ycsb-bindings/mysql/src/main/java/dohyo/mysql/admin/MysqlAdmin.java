package dohyo.mysql.admin;

import dohyo.admin.Admin;
import dohyo.admin.Wait;
import dohyo.binding.Settings;
import dohyo.jdbc.admin.JdbcAdmin;
import dohyo.mysql.MysqlDialect;
import dohyo.mysql.MysqlLogin;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Administers a running MariaDB or MySQL for Ansible. The argument {@code connection} is a file with the binding's
 * properties, because a command line would show the password. Each verb reads further arguments.
 */
public final class MysqlAdmin extends JdbcAdmin<MysqlServer> {
  /** Query for the server's counters. */
  static final String STATUS = "SHOW GLOBAL STATUS";
  private static final int MEBIBYTE = 1 << 20;
  /**
   * Settings of InnoDB while it settles. The first two are the number of 16-KiB pages that it may write per second;
   * 100,000 pages are 1.5 GiB. The last is the percentage of pages that may stay dirty. The order matters: the first
   * setting is the maximum of the second. When the last one is lowered, the server also lowers the third, for good.
   */
  static final List<Variable> SETTLING = List.of(
      new Variable("innodb_io_capacity_max", "100000"), new Variable("innodb_io_capacity", "100000"),
      new Variable("innodb_max_dirty_pages_pct_lwm", "0"), new Variable("innodb_max_dirty_pages_pct", "0"));

  /** A global variable of the server and its value. */
  record Variable(String name, String value) {
    String assignment() {
      return "SET GLOBAL %s = %s".formatted(name, value);
    }
  }

  /** Connects to the server of {@code connection}, and to all {@code replicas} with the same account. */
  private MysqlAdmin(Settings arguments) throws SQLException {
    super(arguments, new MysqlDialect(), new MysqlServer(login(arguments)));
    for (String place : replicaPlaces()) {
      replicas().add(new MysqlServer(login(arguments).at(place)));
    }
  }

  private static MysqlLogin login(Settings arguments) {
    return new MysqlLogin(connection(arguments));
  }

  /** Runs one verb: follow, schema, settle, count or stats. */
  public static void main(String[] words) {
    Map<String, Admin.Verb> verbs = new HashMap<>(verbs(MysqlAdmin::new));
    verbs.put("follow", MysqlAdmin::follow);
    Admin.main("MySQL", verbs, words);
  }

  /** Makes this server a replica. The file {@code primary} contains the primary's host, port, user and password. */
  private static Map<String, ?> follow(Settings arguments) throws Exception {
    Settings source = Admin.properties(arguments, "primary");
    try (MysqlServer replica = new MysqlServer(login(arguments))) {
      replica.follow(source.required("host"), source.number("port", 3306, 1, 65_535), source.required("user"),
          source.required("password"), new Wait(arguments, "mysql_replica_timeout"));
    }
    return Map.of();
  }

  @Override
  protected int connected() throws SQLException {
    boolean semiSync = arguments().number("wait", 0, 0, Integer.MAX_VALUE) > 0;
    return semiSync ? primary().semiSync().clients() : primary().replicas();
  }

  @Override
  protected void create() throws SQLException, IOException {
    new Schema(arguments()).create(primary());
  }

  @Override
  protected void waitForCopies(Wait wait) throws Exception {
    String position = replicas().isEmpty() ? "" : primary().position();
    for (MysqlServer replica : replicas()) {
      replica.waitFor(position, wait);
    }
  }

  /**
   * Checks that all writes have waited for the replicas. Otherwise the actual conditions would differ from the reported
   * ones.
   */
  @Override
  protected void check(MysqlServer server) throws SQLException, IOException {
    MysqlServer.SemiSync semiSync = server.semiSync();
    if (semiSync.no() > 0) {
      throw new IOException("primary %s committed %d transactions without its replicas, and %d with them"
          .formatted(server.place(), semiSync.no(), semiSync.yes()));
    }
  }

  @Override
  protected Map<String, String> views() {
    return Map.of("status", STATUS, "variables", "SHOW GLOBAL VARIABLES",
        "tables", "SHOW TABLE STATUS", "innodb", "SHOW ENGINE INNODB STATUS", "replica", "SHOW REPLICA STATUS",
        "connections", "SHOW PROCESSLIST");
  }

  @Override
  protected Map<String, Object> conditions() throws SQLException {
    Map<String, String> variables = primary().variables();
    Map<String, String> engines = primary().pairs("SELECT DISTINCT ENGINE, CREATE_OPTIONS"
        + " FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()");
    boolean innodb = engines.containsKey("InnoDB");
    String options = engines.values().stream().distinct().collect(Collectors.joining(", "));
    MysqlServer.SemiSync semiSync = primary().semiSync();
    // Use the primary's count of replicas. With semi-synchronous replication, it includes only those that acknowledge.
    int replication = 1 + (semiSync.on() ? semiSync.clients() : primary().replicas());
    Map<String, Object> conditions = conditionsOf(replication, 1 + semiSync.acknowledge());
    conditions.put("title", "%s (%s)".formatted(primary().product(), String.join(", ", engines.keySet())));
    conditions.put("version", variables.get("version").replaceAll("-MariaDB.*", ""));
    conditions.put("durability", durable(engines, semiSync.on() ? servers() : List.of(primary()))
        && (!innodb || protectsPages(variables)) ? "disk" : "memory");
    conditions.put("compression", innodb ? compression(options, variables) : "none");
    conditions.put("memory", innodb ? "buffer pool " + mebibytes(variables.get("innodb_buffer_pool_size"))
        : "key buffer " + mebibytes(variables.get("key_buffer_size")) + ", data in the cache of the operating system");
    conditions.put("notes", notes(variables, innodb, options, semiSync));
    return conditions;
  }

  private List<String> notes(Map<String, String> variables, boolean innodb, String options,
      MysqlServer.SemiSync semiSync) {
    List<String> notes = new ArrayList<>();
    notes.add("tables: " + options);
    if (innodb) {
      notes.add("redo log: flush at commit %s, doublewrite %s, flush method %s, isolation %s".formatted(
          variables.get("innodb_flush_log_at_trx_commit"), variables.get("innodb_doublewrite"),
          variables.get("innodb_flush_method"),
          variables.getOrDefault("transaction_isolation", variables.get("tx_isolation"))));
    } else {
      notes.add("every write is flushed to disk: " + variables.get("flush"));
    }
    notes.add(variables.get("log_bin").equals("ON")
        ? "binary log: ON, %s, %s, sync_binlog %s".formatted(variables.get("binlog_format"),
            variables.get("binlog_row_image"), variables.get("sync_binlog"))
        : "binary log: OFF");
    notes.addAll(notesOfReplicas());
    if (!replicas().isEmpty()) {
      notes.add(semiSync.on()
          ? "semi-synchronous replication: a write waits for %d of %d replicas, %s".formatted(
              semiSync.acknowledge(), semiSync.clients(), semiSync.point())
          : "asynchronous replication: writes do not wait for replicas");
    }
    if (!replicas().isEmpty() && !innodb) {
      notes.add("MyISAM has no transactions: a write is visible before a replica has it, and is kept if none gets it");
    }
    return notes;
  }

  /**
   * Returns whether an acknowledged write is on the disk of every server that acknowledged it. MyISAM has no log, so
   * the data itself must be on disk. The binary log must also be on disk, because a primary reads it after a crash to
   * find out which transactions it had committed.
   */
  static boolean durable(Map<String, String> engines, List<MysqlServer> servers) throws SQLException {
    for (MysqlServer server : servers) {
      Map<String, String> variables = server.variables();
      boolean log = variables.get("log_bin").equals("ON");
      boolean replica = variables.get("read_only").equals("ON");
      boolean durable = engines.keySet().stream().allMatch(engine -> switch (engine) {
        case "InnoDB" -> variables.get("innodb_flush_log_at_trx_commit").equals("1")
            && !variables.get("innodb_flush_method").equals("nosync")
            && (!log || variables.get("sync_binlog").equals("1"));
        default -> variables.get("flush").equals("ON");
      });
      if (!durable || replica && !variables.get("sync_relay_log").equals("1")) {
        return false;
      }
    }
    return true;
  }

  /** Returns whether InnoDB's doublewrite buffer protects from half-written pages after a loss of power. */
  static boolean protectsPages(Map<String, String> variables) {
    return !variables.getOrDefault("innodb_doublewrite", "OFF").matches("OFF|DETECT_ONLY");
  }

  /**
   * Returns the compression in the scenario's terms. MariaDB stores the algorithm in a variable, and MySQL in the
   * table's options.
   */
  static String compression(String options, Map<String, String> variables) {
    String algorithm = options.toLowerCase(Locale.ROOT);
    if (algorithm.contains("page_compressed")) {
      algorithm = variables.get("innodb_compression_algorithm");
    } else if (!algorithm.contains("compress")) {
      return "none";
    }
    return algorithm.contains("lz4") ? "lz4" : algorithm.matches(".*(zlib|row_format=compressed).*") ? "gz" : algorithm;
  }

  private static String mebibytes(String bytes) {
    return Long.parseLong(bytes) / MEBIBYTE + " MiB";
  }

  @Override
  protected long pid() throws SQLException, IOException {
    Map<String, String> variables = primary().variables();
    Path file = Path.of(variables.get("datadir")).resolve(variables.get("pid_file"));
    return Long.parseLong(Files.readString(file).strip());
  }

  /**
   * Writes all dirty pages. The temporary settings {@link #SETTLING} make InnoDB write all of them, and faster.
   */
  @Override
  protected void flush(MysqlServer server, Wait wait) throws Exception {
    server.execute("FLUSH LOCAL TABLES");
    Deque<String> undo = new ArrayDeque<>();
    try {
      for (Variable variable : SETTLING) {
        undo.push(new Variable(variable.name, server.value("SELECT @@GLOBAL." + variable.name)).assignment());
        server.execute(variable.assignment());
      }
      wait.until(() -> {
        String pages = server.pairs("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'")
            .get("Innodb_buffer_pool_pages_dirty");
        return pages.equals("0") ? "" : pages + " pages of " + server.place() + " are not written";
      });
    } finally {
      for (String statement : undo) {
        server.execute(statement);
      }
    }
  }
}
