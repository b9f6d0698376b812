package dohyo.mysql;

import dohyo.binding.Columns;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * What is prepared once per connection.
 *
 * @param verb    what is done
 * @param table   table name
 * @param columns fields read or written; {@code null} for all, and where there are none
 * @param rows    records that one execution carries
 */
record Sql(Verb verb, String table, Columns columns, int rows) {
  /** Name of the key's column, as in the tables of stock YCSB. */
  static final String KEY = "YCSB_KEY";

  /** The statements that this binding knows; the order of their variables is that of {@link MysqlBinding}. */
  enum Verb {
    READ, SCAN, DELETE,
    /** Writes the fields given, whether the record is there or not. */
    UPSERT,
    /** The same, but a field that is NULL stays as it is: for records that have different fields. */
    UPSERT_SOME
  }

  /** The statement's text, for MariaDB and MySQL alike. */
  String text() {
    String name = quoted(table);
    return switch (verb) {
      case READ -> "SELECT " + fields() + " FROM " + name + " WHERE " + KEY
          + (rows == 1 ? " = ?" : " IN (" + repeated("?", rows) + ")");
      case SCAN -> "SELECT " + fields() + " FROM " + name + " WHERE " + KEY + " >= ? ORDER BY " + KEY + " LIMIT ?";
      case DELETE -> "DELETE FROM " + name + " WHERE " + KEY + " = ?";
      case UPSERT -> upsert(name, "%1$s = VALUES(%1$s)");
      case UPSERT_SOME -> upsert(name, "%1$s = COALESCE(VALUES(%1$s), %1$s)");
    };
  }

  private String upsert(String name, String assignment) {
    return "INSERT INTO " + name + " (" + KEY + ", " + fields() + ") VALUES "
        + repeated("(?, " + repeated("?", columns.size()) + ")", rows)
        + " ON DUPLICATE KEY UPDATE " + columns.names().stream()
            .map(column -> assignment.formatted(quoted(column))).collect(Collectors.joining(", "));
  }

  // Only a read of several records needs to be told which is which.
  private String fields() {
    if (columns == null) {
      return "*";
    }
    Stream<String> names = columns.names().stream().map(Sql::quoted);
    return (verb == Verb.READ && rows > 1 ? Stream.concat(Stream.of(KEY), names) : names)
        .collect(Collectors.joining(", "));
  }

  private static String repeated(String text, int times) {
    return Stream.generate(() -> text).limit(times).collect(Collectors.joining(", "));
  }

  private static String quoted(String name) {
    return '`' + name.replace("`", "``") + '`';
  }
}
