package dohyo.mysql.admin;

import dohyo.admin.Admin;
import dohyo.binding.KeyColumns;
import dohyo.binding.Settings;
import dohyo.jdbc.Key;
import dohyo.mysql.MysqlDialect;
import java.io.IOException;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Creates the tables for YCSB's records. Values are bytes or integers. The key is bytes, or several columns, in which a
 * timestamp is milliseconds since 1970. The comment of a table is the mark of the trial that created it.
 */
public final class Schema {
  private static final Map<String, String> MARIADB = Map.of("gz", " PAGE_COMPRESSED=1");
  private static final Map<String, String> MYSQL = Map.of("gz", " COMPRESSION='zlib'", "lz4", " COMPRESSION='lz4'");

  private static final MysqlDialect DIALECT = new MysqlDialect();

  private final Settings arguments;
  private final String mark;

  /**
   * Reads the description of the tables.
   *
   * @param arguments trial, tables, keycolumns, key (primary, or unique: an index on columns that may be NULL, and no
   *                  primary key), fieldcount, fieldnameprefix, columntype (bytes, int), fieldlength (maximum length of
   *                  a field in bytes, 0 for any), engine and compression
   */
  public Schema(Settings arguments) {
    this.arguments = arguments;
    mark = Admin.mark(arguments);
  }

  /**
   * Creates the tables that do not exist.
   *
   * @throws IOException if the database has a table without this trial's mark; in that case nothing is created
   */
  public void create(MysqlServer server) throws SQLException, IOException {
    Map<String, String> there = server.pairs(
        "SELECT TABLE_NAME, TABLE_COMMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()");
    for (Map.Entry<String, String> table : there.entrySet()) {
      if (!mark.equals(table.getValue())) {
        throw Admin.foreign("the table %s.%s on %s".formatted(
            server.value("SELECT DATABASE()"), table.getKey(), server.place()), "move it away");
      }
    }
    for (String table : arguments.required("tables").split(",")) {
      if (!there.containsKey(table)) {
        server.execute(statement(table, server.isMariaDb()));
      }
    }
  }

  /** Returns the statement that creates a table. */
  public String statement(String table, boolean mariaDb) {
    KeyColumns key = KeyColumns.of(arguments, Key.SINGLE);
    boolean primary = arguments.choice("key", "primary", "unique").equals("primary");
    String type = columnType();
    String prefix = arguments.text("fieldnameprefix", "field");
    List<String> lines = new ArrayList<>(key.columns().stream()
        .map(column -> quoted(column.name()) + " " + type(column) + (primary ? " NOT NULL" : "")).toList());
    lines.add((primary ? "PRIMARY KEY" : "UNIQUE INDEX")
        + key.names().stream().map(Schema::quoted).collect(Collectors.joining(", ", " (", ")")));
    lines.addAll(IntStream.range(0, arguments.number("fieldcount", 10, 1, Integer.MAX_VALUE))
        .mapToObj(field -> quoted(prefix + field) + " " + type).toList());
    return "CREATE TABLE " + quoted(table) + " (\n  " + String.join(",\n  ", lines) + "\n) ENGINE=" + engine()
        + " ROW_FORMAT=DYNAMIC CHARACTER SET binary" + compression(mariaDb) + " COMMENT=" + MysqlDialect.literal(mark);
  }

  private static String quoted(String name) {
    return DIALECT.quoted(name);
  }

  private static String type(KeyColumns.Column column) {
    return switch (column.type()) {
      case KEY -> "VARBINARY(255)";
      case INT -> "INT";
      case TEXT -> "VARCHAR(" + column.length() + ") CHARACTER SET ascii COLLATE ascii_bin";
      default -> "BIGINT";
    };
  }

  private String columnType() {
    if (arguments.choice("columntype", "bytes", "int").equals("int")) {
      return "INT";
    }
    int length = arguments.number("fieldlength", 0, 0, Integer.MAX_VALUE);
    return length == 0 ? "LONGBLOB" : "VARBINARY(" + length + ")";
  }

  private String engine() {
    return arguments.choice("engine", "InnoDB", "MyISAM");
  }

  private String compression(boolean mariaDb) {
    String asked = arguments.choice("compression", "none", "lz4", "zstd", "gz");
    return engine().equals("InnoDB") ? (mariaDb ? MARIADB : MYSQL).getOrDefault(asked, "") : "";
  }
}
