package dohyo.h2;

import dohyo.admin.Admin;
import dohyo.binding.Settings;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Creates the tables of a running H2, settles it, counts its rows, and writes its statistics. */
public final class H2Admin {
  private H2Admin() {
  }

  public static void main(String[] words) {
    Admin.main("H2", Map.of("schema", H2Admin::schema, "settle", H2Admin::settle, "count", H2Admin::count,
        "stats", H2Admin::stats), words);
  }

  private static Map<String, ?> schema(Settings arguments) throws Exception {
    String prefix = arguments.text("fieldnameprefix", "field");
    String fields = IntStream.range(0, arguments.number("fieldcount", 10, 1, 1000))
        .mapToObj(i -> ", " + H2Binding.quoted(prefix + i) + " VARBINARY(1048576)").collect(Collectors.joining());
    try (Connection connection = connect(arguments); Statement sql = connection.createStatement()) {
      for (String table : arguments.required("tables").split(",")) {
        sql.execute("CREATE TABLE " + H2Binding.quoted(table) + " (y_id VARBINARY(60000) PRIMARY KEY" + fields + ")");
      }
      // Read the conditions from the server instead of repeating the request.
      Map<String, Object> conditions = new LinkedHashMap<>();
      conditions.put("version", text(sql, "SELECT H2VERSION()"));
      conditions.put("nodes", 1);
      conditions.put("replication", 1);
      conditions.put("write_acks", arguments.required("write_acks"));
      conditions.put("read_acks", arguments.required("read_acks"));
      conditions.put("write_copies", 1);
      conditions.put("read_copies", 1);
      // H2 writes its log in the background; according to its documentation it does not force the log to disk.
      conditions.put("durability", "memory");
      conditions.put("compression", "false".equalsIgnoreCase(setting(sql, "COMPRESS")) ? "none" : "lzf");
      conditions.put("endpoints", List.of(arguments.required("server")));
      conditions.put("notes", List.of("write delay " + setting(sql, "WRITE_DELAY") + " ms"));
      return Map.of("conditions", conditions, "pid", Admin.pid(arguments, "pid"));
    }
  }

  private static Map<String, ?> settle(Settings arguments) throws SQLException {
    long begin = System.nanoTime();
    try (Connection connection = connect(arguments); Statement sql = connection.createStatement()) {
      sql.execute("CHECKPOINT SYNC");
      long seconds = (System.nanoTime() - begin) / 1_000_000_000;
      return Map.of("seconds", seconds, "rows", rows(sql, arguments));
    }
  }

  private static Map<String, ?> count(Settings arguments) throws SQLException {
    try (Connection connection = connect(arguments); Statement sql = connection.createStatement()) {
      return Map.of("rows", rows(sql, arguments));
    }
  }

  private static Map<String, Long> rows(Statement sql, Settings arguments) throws SQLException {
    Map<String, Long> rows = new LinkedHashMap<>();
    for (String table : arguments.required("tables").split(",")) {
      rows.put(table, Long.parseLong(text(sql, "SELECT COUNT(*) FROM " + H2Binding.quoted(table))));
    }
    return rows;
  }

  private static Map<String, ?> stats(Settings arguments) throws Exception {
    Path file = Admin.folder(arguments).resolve("stats-settings.txt");
    try (Connection connection = connect(arguments); Statement sql = connection.createStatement();
        ResultSet found = sql.executeQuery("SELECT * FROM INFORMATION_SCHEMA.SETTINGS ORDER BY 1")) {
      StringBuilder text = new StringBuilder();
      while (found.next()) {
        text.append(found.getString(1)).append('=').append(found.getString(2)).append('\n');
      }
      Files.writeString(file, text);
    }
    return Map.of("files", 1);
  }

  private static Connection connect(Settings arguments) throws SQLException {
    // Without DB_CLOSE_DELAY, H2 would close the database with its last connection.
    return DriverManager.getConnection(
        "jdbc:h2:tcp://" + arguments.required("server") + "/./ycsb;DB_CLOSE_DELAY=-1", "sa", "");
  }

  private static String setting(Statement sql, String name) throws SQLException {
    return text(sql, "SELECT SETTING_VALUE FROM INFORMATION_SCHEMA.SETTINGS WHERE SETTING_NAME = '" + name + "'");
  }

  private static String text(Statement sql, String query) throws SQLException {
    try (ResultSet found = sql.executeQuery(query)) {
      return found.next() ? found.getString(1) : "";
    }
  }
}
