package dohyo.mysql;

import dohyo.admin.Admin;
import dohyo.binding.Settings;
import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * What Ansible asks of a running MariaDB or MySQL. The argument {@code connection} names a file with the binding's own
 * properties, since a command line would show the password; the others are read by each verb below.
 */
public final class MysqlAdmin implements AutoCloseable {
  /** A bound for single statements; the longest counts the rows of a table. */
  private static final int CALL_MILLIS = 600_000;
  private static final long LOOK_MILLIS = 200;
  private static final int MEBIBYTE = 1 << 20;
  /**
   * InnoDB's settings while it settles, in this order, as the first bounds the second: how many pages of 16 KiB it
   * may write per second (its default, 200, is 3 MiB; this is 1.5 GiB), and what percentage of them may stay dirty.
   */
  private static final List<Variable> SETTLING = List.of(
      new Variable("innodb_io_capacity_max", "100000"),
      new Variable("innodb_io_capacity", "100000"), new Variable("innodb_max_dirty_pages_pct", "0"));

  /** A global variable of the server and a value for it. */
  private record Variable(String name, String value) {
    String assignment() {
      return "SET GLOBAL %s = %s".formatted(name, value);
    }
  }

  private final Settings arguments;
  private final Server primary;
  private final List<Server> replicas = new ArrayList<>();

  /** Connects to the server of {@code connection}, and with the same account to all of {@code replicas}. */
  private MysqlAdmin(Settings arguments) throws IOException, SQLException {
    this.arguments = arguments;
    Login login = login(arguments);
    primary = new Server(login);
    for (String place : arguments.text("replicas", "").split(",")) {
      if (!place.isEmpty()) {
        replicas.add(new Server(login.at(place)));
      }
    }
  }

  private static Login login(Settings arguments) throws IOException {
    Properties properties = properties(arguments.required("connection"));
    properties.setProperty("operationtimeout", Integer.toString(CALL_MILLIS));
    return new Login(new Settings(properties));
  }

  private static Properties properties(String file) throws IOException {
    Properties properties = new Properties();
    try (Reader reader = Files.newBufferedReader(Path.of(file))) {
      properties.load(reader);
    }
    return properties;
  }

  @Override
  public void close() throws SQLException {
    for (Server server : servers()) {
      server.close();
    }
  }

  private List<Server> servers() {
    return Stream.concat(Stream.of(primary), replicas.stream()).toList();
  }

  /** Runs one verb: follow, schema, settle, count or stats. */
  public static void main(String[] words) {
    Admin.main("MySQL", Map.of("follow", MysqlAdmin::follow, "schema", MysqlAdmin::schema, "settle", MysqlAdmin::settle,
        "count", MysqlAdmin::count, "stats", MysqlAdmin::stats), words);
  }

  /** Makes this server a replica of the one that the file {@code primary} names: host, port, user, password. */
  private static Map<String, ?> follow(Settings arguments) throws Exception {
    Settings source = new Settings(properties(arguments.required("primary")));
    try (Server replica = new Server(login(arguments))) {
      replica.follow(source.required("host"), source.number("port", 3306, 1, 65_535), source.required("user"),
          source.required("password"), end(arguments));
    }
    return Map.of();
  }

  /**
   * Waits for {@code replicas}; {@code wait} of them shall acknowledge a write. Makes the tables ({@link Schema}),
   * then reads back from the servers under which conditions they work.
   */
  private static Map<String, ?> schema(Settings arguments) throws Exception {
    try (MysqlAdmin mysql = new MysqlAdmin(arguments)) {
      mysql.waitForReplicas(end(arguments));
      new Schema(arguments).create(mysql.primary);
      return Map.of("conditions", mysql.conditions(), "pid", mysql.pid());
    }
  }

  private void waitForReplicas(Instant end) throws Exception {
    boolean semiSync = arguments.number("wait", 0, 0, Integer.MAX_VALUE) > 0;
    int here;
    while ((here = semiSync ? primary.semiSync().clients() : primary.replicas()) < replicas.size()) {
      if (Instant.now().isAfter(end)) {
        throw new IOException("%d of %d replicas have connected to the primary %s; their logs say why"
            .formatted(here, replicas.size(), primary.place()));
      }
      Thread.sleep(LOOK_MILLIS);
    }
  }

  /** Has everything on all copies, and written that is in memory only; then counts the rows of {@code tables}. */
  private static Map<String, ?> settle(Settings arguments) throws Exception {
    try (MysqlAdmin mysql = new MysqlAdmin(arguments)) {
      Instant start = Instant.now();
      Instant end = end(arguments);
      mysql.waitForCopies(end);
      for (Server server : mysql.servers()) {
        server.execute("FLUSH LOCAL TABLES");
        mysql.writePages(server, end);
      }
      refuseLonelyWrites(mysql.primary);
      long seconds = Duration.between(start, Instant.now()).toSeconds();
      return Map.of("seconds", seconds, "rows", mysql.countRows());
    }
  }

  /** Counts the rows of {@code tables} on all copies, once each has all of them. */
  private static Map<String, ?> count(Settings arguments) throws Exception {
    try (MysqlAdmin mysql = new MysqlAdmin(arguments)) {
      mysql.waitForCopies(end(arguments));
      return Map.of("rows", mysql.countRows());
    }
  }

  /** Waits until every replica has what the primary has by now. */
  private void waitForCopies(Instant end) throws Exception {
    String position = replicas.isEmpty() ? "" : primary.position();
    for (Server replica : replicas) {
      replica.waitFor(position, end);
    }
  }

  private static Instant end(Settings arguments) {
    return Instant.now().plusSeconds(arguments.number("timeout", 1800, 1, Integer.MAX_VALUE));
  }

  /** A write that went on without its replicas was measured under other conditions than the table says. */
  private static void refuseLonelyWrites(Server server) throws SQLException, IOException {
    Server.SemiSync semiSync = server.semiSync();
    if (semiSync.no() > 0) {
      throw new IOException(("the primary %s has committed %d transactions without its replicas' acknowledgement,"
          + " and %d with it").formatted(server.place(), semiSync.no(), semiSync.yes()));
    }
  }

  /** Writes the server's own view of itself into files of {@code folder}. */
  private static Map<String, ?> stats(Settings arguments) throws Exception {
    Path folder = Admin.folder(arguments);
    try (Server server = new Server(login(arguments))) {
      Map<String, String> views = Map.of("status", "SHOW GLOBAL STATUS", "variables", "SHOW GLOBAL VARIABLES",
          "tables", "SHOW TABLE STATUS", "innodb", "SHOW ENGINE INNODB STATUS", "replica", "SHOW REPLICA STATUS",
          "connections", "SHOW PROCESSLIST");
      for (Map.Entry<String, String> view : views.entrySet()) {
        Files.write(folder.resolve("stats-" + view.getKey() + ".txt"), lines(server.rows(view.getValue())));
      }
      refuseLonelyWrites(server);
      return Map.of();
    }
  }

  private Map<String, Object> conditions() throws SQLException {
    Map<String, String> variables = primary.variables();
    Map<String, String> engines = primary.pairs("SELECT DISTINCT ENGINE, CREATE_OPTIONS FROM information_schema.TABLES"
        + " WHERE TABLE_SCHEMA = DATABASE()");
    boolean innodb = engines.containsKey("InnoDB");
    String options = engines.values().stream().distinct().collect(Collectors.joining(", "));
    Server.SemiSync semiSync = primary.semiSync();
    // Counted by the primary: semi-synchronously only those that acknowledge.
    int replication = 1 + (semiSync.on() ? semiSync.clients() : primary.replicas());
    int writeCopies = 1 + semiSync.acknowledge();

    Map<String, Object> conditions = new LinkedHashMap<>();
    conditions.put("title", "%s (%s)".formatted(primary.product(), String.join(", ", engines.keySet())));
    conditions.put("version", variables.get("version").replaceAll("-MariaDB.*", ""));
    conditions.put("nodes", replication);
    conditions.put("replication", replication);
    conditions.put("write_acks", acks(writeCopies, replication, arguments.required("write_acks")));
    conditions.put("read_acks", acks(1, replication, arguments.required("read_acks")));
    conditions.put("write_copies", writeCopies);
    conditions.put("read_copies", 1);
    // All reads ask the primary, which has all writes, whoever else has them.
    conditions.put("consistency", "strong");
    conditions.put("durability", durable(engines, semiSync.on() ? servers() : List.of(primary)) ? "disk" : "memory");
    conditions.put("compression", innodb ? compression(options, variables) : "none");
    conditions.put("memory", innodb ? "buffer pool " + mebibytes(variables.get("innodb_buffer_pool_size"))
        : "key buffer " + mebibytes(variables.get("key_buffer_size")) + ", data in the cache of the operating system");
    conditions.put("endpoints", List.of(primary.place()));
    conditions.put("notes", notes(variables, innodb, options, semiSync));
    return conditions;
  }

  private List<String> notes(Map<String, String> variables, boolean innodb, String options, Server.SemiSync semiSync) {
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
    if (!replicas.isEmpty()) {
      notes.add("reads and writes: the primary %s; replicas: %s".formatted(
          primary.place(), replicas.stream().map(Server::place).collect(Collectors.joining(", "))));
      notes.add(semiSync.on()
          ? "semi-synchronous replication: a write waits until %d of %d replicas have logged it, %s".formatted(
              semiSync.acknowledge(), semiSync.clients(), semiSync.point())
          : "asynchronous replication: a write waits for no replica");
    }
    if (!replicas.isEmpty() && !innodb) {
      notes.add("MyISAM has no transactions: a write can be read before a replica has it, and stays if none ever has");
    }
    return notes;
  }

  /** In the words of the scenarios, which for few copies mean the same: then the word that was asked for. */
  private static String acks(int copies, int replication, String asked) {
    Map<String, Integer> words = new LinkedHashMap<>();
    words.put(asked, switch (asked) {
      case "one" -> 1;
      case "quorum" -> replication / 2 + 1;
      default -> replication;
    });
    words.putIfAbsent("one", 1);
    words.putIfAbsent("all", replication);
    words.putIfAbsent("quorum", replication / 2 + 1);
    return words.entrySet().stream().filter(word -> word.getValue() == copies).map(Map.Entry::getKey).findFirst()
        .orElse("%d of %d".formatted(copies, replication));
  }

  /**
   * Whether an acknowledged write is on disk wherever it was acknowledged. MyISAM has no log, so the data themselves
   * must be; a primary with a binary log looks there, after a crash, which transactions it had committed.
   */
  private static boolean durable(Map<String, String> engines, List<Server> servers) throws SQLException {
    for (Server server : servers) {
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

  /** In the words of the scenarios; MariaDB has the algorithm in a variable, MySQL in the table's options. */
  private static String compression(String options, Map<String, String> variables) {
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

  private long pid() throws SQLException, IOException {
    Map<String, String> variables = primary.variables();
    Path file = Path.of(variables.get("datadir")).resolve(variables.get("pid_file"));
    return Long.parseLong(Files.readString(file).strip());
  }

  /** InnoDB writes its pages at leisure, unless hardly any may wait and it may write as many as the disk takes. */
  private void writePages(Server server, Instant end) throws Exception {
    Deque<String> undo = new ArrayDeque<>();
    try {
      for (Variable variable : SETTLING) {
        undo.push(new Variable(variable.name, server.value("SELECT @@GLOBAL." + variable.name)).assignment());
        server.execute(variable.assignment());
      }
      String pages;
      while (!(pages = server.pairs("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'")
          .get("Innodb_buffer_pool_pages_dirty")).equals("0")) {
        if (Instant.now().isAfter(end)) {
          throw new IOException("%s pages of %s are not written after %s s; raise mysql_settle_timeout"
              .formatted(pages, server.place(), arguments.required("timeout")));
        }
        Thread.sleep(LOOK_MILLIS);
      }
    } finally {
      for (String statement : undo) {
        server.execute(statement);
      }
    }
  }

  /** Rows by table, the same on every copy; none where more were loaded than is worth counting. */
  private Map<String, Long> countRows() throws SQLException, IOException {
    Map<String, Long> rows = new LinkedHashMap<>();
    long records = arguments.whole("recordcount", 0, 0, Long.MAX_VALUE);
    if (records <= arguments.whole("countlimit", 0, 0, Long.MAX_VALUE)) {
      for (String table : arguments.required("tables").split(",")) {
        String count = "SELECT COUNT(*) FROM " + Sql.quoted(table);
        rows.put(table, Long.parseLong(primary.value(count)));
        for (Server replica : replicas) {
          long copied = Long.parseLong(replica.value(count));
          if (copied != rows.get(table)) {
            throw new IOException("the replica %s has %d rows in %s, the primary %s has %d".formatted(
                replica.place(), copied, table, primary.place(), rows.get(table)));
          }
        }
      }
    }
    return rows;
  }

  private static List<String> lines(List<Map<String, String>> rows) {
    return rows.stream().map(row -> row.entrySet().stream()
        .map(field -> field.getKey().matches("Variable_name|Value|Status|Type")
            ? field.getValue() : field.getKey() + "=" + field.getValue())
        .collect(Collectors.joining("\t"))).toList();
  }
}
