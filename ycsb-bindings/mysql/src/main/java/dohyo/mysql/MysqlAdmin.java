package dohyo.mysql;

import dohyo.admin.Admin;
import dohyo.binding.Settings;
import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * What Ansible asks of a running MariaDB or MySQL. The argument {@code connection} names a file with the binding's own
 * properties, since a command line would show the password; the others are read by each verb below.
 */
public final class MysqlAdmin implements AutoCloseable {
  /** A bound for single statements; the longest counts the rows of a table. */
  private static final int CALL_MILLIS = 600_000;
  private static final long LOOK_MILLIS = 200;
  private static final int MEBIBYTE = 1 << 20;

  private final Settings arguments;
  private final Connection connection;
  private final String place;

  private MysqlAdmin(Settings arguments) throws IOException, SQLException {
    this.arguments = arguments;
    Properties properties = new Properties();
    properties.setProperty("operationtimeout", Integer.toString(CALL_MILLIS));
    try (Reader file = Files.newBufferedReader(Path.of(arguments.required("connection")))) {
      properties.load(file);
    }
    Login login = new Login(new Settings(properties));
    place = login.place().replaceFirst("^jdbc:mariadb://([^/]*).*", "$1");
    connection = login.connect();
  }

  @Override
  public void close() throws SQLException {
    connection.close();
  }

  /** Runs one verb: schema, settle or stats. */
  public static void main(String[] words) {
    Admin.main("MySQL", Map.of("schema", MysqlAdmin::schema, "settle", MysqlAdmin::settle, "stats", MysqlAdmin::stats),
        words);
  }

  /** Runs the SQL of {@code file}, then reads back from the server under which conditions it works. */
  private static Map<String, ?> schema(Settings arguments) throws Exception {
    try (MysqlAdmin mysql = new MysqlAdmin(arguments); Statement statement = mysql.connection.createStatement()) {
      for (String sql : statements(Files.readString(Path.of(arguments.required("file"))))) {
        statement.execute(sql);
      }
      return Map.of("conditions", mysql.conditions(), "pid", mysql.pid());
    }
  }

  /** Has everything written that is in memory only, then counts the rows of {@code tables}. */
  private static Map<String, ?> settle(Settings arguments) throws Exception {
    try (MysqlAdmin mysql = new MysqlAdmin(arguments); Statement statement = mysql.connection.createStatement()) {
      Instant start = Instant.now();
      statement.execute("FLUSH TABLES");
      mysql.writePages(statement, start.plusSeconds(arguments.number("timeout", 1800, 1, Integer.MAX_VALUE)));
      long seconds = Duration.between(start, Instant.now()).toSeconds();
      return Map.of("seconds", seconds, "rows", mysql.countRows());
    }
  }

  /** Writes the server's own view of itself into files of {@code folder}. */
  private static Map<String, ?> stats(Settings arguments) throws Exception {
    try (MysqlAdmin mysql = new MysqlAdmin(arguments)) {
      Map<String, String> views = Map.of("status", "SHOW GLOBAL STATUS", "variables", "SHOW GLOBAL VARIABLES",
          "tables", "SHOW TABLE STATUS", "innodb", "SHOW ENGINE INNODB STATUS");
      for (Map.Entry<String, String> view : views.entrySet()) {
        Path file = Path.of(arguments.required("folder"), "stats-" + view.getKey() + ".txt");
        Files.write(file, mysql.lines(view.getValue()));
      }
      return Map.of();
    }
  }

  /** The statements of a file: each ends with a semicolon at the end of its line; lines with -- are comments. */
  static List<String> statements(String file) {
    String sql = file.lines().filter(line -> !line.startsWith("--")).collect(Collectors.joining("\n"));
    List<String> statements = new ArrayList<>(List.of(sql.split(";[ \t]*(\n|$)")));
    statements.removeIf(String::isBlank);
    return statements;
  }

  private Map<String, Object> conditions() throws SQLException {
    Map<String, String> variables = pairs("SHOW GLOBAL VARIABLES");
    Map<String, String> engines = pairs("SELECT DISTINCT ENGINE, CREATE_OPTIONS FROM information_schema.TABLES"
        + " WHERE TABLE_SCHEMA = DATABASE()");
    boolean innodb = engines.containsKey("InnoDB");
    boolean log = variables.get("log_bin").equals("ON");
    String options = engines.values().stream().distinct().collect(Collectors.joining(", "));

    Map<String, Object> conditions = new LinkedHashMap<>();
    conditions.put("title", "%s (%s)".formatted(connection.getMetaData().getDatabaseProductName(),
        String.join(", ", engines.keySet())));
    conditions.put("version", variables.get("version").replaceAll("-MariaDB.*", ""));
    conditions.put("nodes", 1);
    // One server, without replication: one, a quorum and all are the same.
    conditions.put("replication", 1);
    conditions.put("write_acks", arguments.required("write_acks"));
    conditions.put("read_acks", arguments.required("read_acks"));
    conditions.put("write_copies", 1);
    conditions.put("read_copies", 1);
    conditions.put("durability", durable(engines, variables) ? "disk" : "memory");
    conditions.put("compression", innodb ? compression(options, variables) : "none");
    conditions.put("memory", innodb ? "buffer pool " + mebibytes(variables.get("innodb_buffer_pool_size"))
        : "key buffer " + mebibytes(variables.get("key_buffer_size")) + ", data in the cache of the operating system");
    conditions.put("endpoints", List.of(place));
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
    notes.add("binary log: " + (log ? "ON, sync_binlog " + variables.get("sync_binlog") : "OFF"));
    conditions.put("notes", notes);
    return conditions;
  }

  /** Whether an acknowledged write is on disk: MyISAM has no log, so the data themselves must be. */
  private static boolean durable(Map<String, String> engines, Map<String, String> variables) {
    return engines.keySet().stream().allMatch(engine -> switch (engine) {
      case "InnoDB" -> variables.get("innodb_flush_log_at_trx_commit").equals("1")
          && !variables.get("innodb_flush_method").equals("nosync");
      default -> variables.get("flush").equals("ON");
    });
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
    Map<String, String> variables = pairs("SHOW GLOBAL VARIABLES WHERE Variable_name IN ('datadir', 'pid_file')");
    Path file = Path.of(variables.get("datadir")).resolve(variables.get("pid_file"));
    return Long.parseLong(Files.readString(file).strip());
  }

  /** InnoDB writes its pages at leisure, unless hardly any may wait. */
  private void writePages(Statement statement, Instant end) throws Exception {
    String limit = pairs("SHOW GLOBAL VARIABLES LIKE 'innodb_max_dirty_pages_pct'").get("innodb_max_dirty_pages_pct");
    statement.execute("SET GLOBAL innodb_max_dirty_pages_pct = 0");
    try {
      String pages;
      while (!(pages = pairs("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'")
          .get("Innodb_buffer_pool_pages_dirty")).equals("0")) {
        if (Instant.now().isAfter(end)) {
          throw new IOException("%s pages are not written after %s s; raise mysql_settle_timeout"
              .formatted(pages, arguments.required("timeout")));
        }
        Thread.sleep(LOOK_MILLIS);
      }
    } finally {
      statement.execute("SET GLOBAL innodb_max_dirty_pages_pct = " + limit);
    }
  }

  /** Rows by table; none where more were loaded than is worth counting. */
  private Map<String, Long> countRows() throws SQLException {
    Map<String, Long> rows = new LinkedHashMap<>();
    long records = arguments.whole("recordcount", 0, 0, Long.MAX_VALUE);
    if (records <= arguments.whole("countlimit", 0, 0, Long.MAX_VALUE)) {
      for (String table : arguments.required("tables").split(",")) {
        String count = pairs("SELECT '" + table + "', COUNT(*) FROM `" + table + "`").get(table);
        rows.put(table, Long.parseLong(count));
      }
    }
    return rows;
  }

  /** The first two columns of a query's answer. */
  private Map<String, String> pairs(String query) throws SQLException {
    Map<String, String> pairs = new TreeMap<>();
    try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(query)) {
      while (rows.next()) {
        pairs.put(rows.getString(1), rows.getString(2));
      }
    }
    return pairs;
  }

  private List<String> lines(String query) throws SQLException {
    List<String> lines = new ArrayList<>();
    try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(query)) {
      while (rows.next()) {
        List<String> fields = new ArrayList<>();
        for (int i = 1; i <= rows.getMetaData().getColumnCount(); i++) {
          fields.add(rows.getMetaData().getColumnLabel(i).matches("Variable_name|Value|Status|Type")
              ? rows.getString(i) : rows.getMetaData().getColumnLabel(i) + "=" + rows.getString(i));
        }
        lines.add(String.join("\t", fields));
      }
    }
    return lines;
  }
}
