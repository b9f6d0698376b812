package dohyo.mysql;

import dohyo.binding.Columns;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
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
  /** The statements that this binding knows; the order of their variables is that of {@link MysqlBinding}. */
  enum Verb {
    READ, SCAN, DELETE,
    /** Writes the fields given, whether the record is there or not. */
    UPSERT,
    /** The same, but a field that is NULL stays as it is: for records that have different fields. */
    UPSERT_SOME
  }

  /**
   * The statement's text, for MariaDB and MySQL alike.
   *
   * @param key names of the key's columns
   */
  String text(List<String> key) {
    String name = quoted(table);
    return switch (verb) {
      case READ -> "SELECT " + fields(key) + " FROM " + name + " WHERE " + is(key);
      case SCAN -> "SELECT " + fields(key) + " FROM " + name + " WHERE " + from(key)
          + " ORDER BY " + each(key, "%s", ", ") + " LIMIT ?";
      case DELETE -> "DELETE FROM " + name + " WHERE " + is(key);
      case UPSERT -> upsert(name, key, "%1$s = VALUES(%1$s)");
      case UPSERT_SOME -> upsert(name, key, "%1$s = COALESCE(VALUES(%1$s), %1$s)");
    };
  }

  /**
   * Which records are meant. Of several columns it is no list of rows, {@code (a, b) IN ((?, ?), …)}: with that MariaDB
   * would read the whole table (MDEV-10947), while both servers look up each of the alternatives in the index.
   */
  private String is(List<String> key) {
    return key.size() == 1 && rows > 1 ? quoted(key.get(0)) + " IN (" + repeated("?", rows, ", ") + ")"
        : repeated(each(key, "%s = ?", " AND "), rows, " OR ");
  }

  /**
   * All from a record on, in the order of the key: {@code a = ? AND b >= ? OR a > ?}. With {@code (a, b) >= (?, ?)} no
   * server would begin in the middle of the index.
   */
  private static String from(List<String> key) {
    return IntStream.iterate(key.size(), size -> size > 0, size -> size - 1)
        .mapToObj(size -> Stream.concat(key.stream().limit(size - 1).map(name -> quoted(name) + " = ?"),
            Stream.of(quoted(key.get(size - 1)) + (size == key.size() ? " >= ?" : " > ?")))
            .collect(Collectors.joining(" AND ")))
        .collect(Collectors.joining(" OR "));
  }

  private String upsert(String name, List<String> key, String assignment) {
    return "INSERT INTO " + name + " (" + each(key, "%s", ", ") + ", " + fields(key) + ") VALUES "
        + repeated("(" + repeated("?", key.size() + columns.size(), ", ") + ")", rows, ", ")
        + " ON DUPLICATE KEY UPDATE " + each(columns.names(), assignment, ", ");
  }

  // Only a read of several records needs to be told which is which.
  private String fields(List<String> key) {
    return columns == null ? "*"
        : (verb == Verb.READ && rows > 1 ? each(key, "%s", ", ") + ", " : "") + each(columns.names(), "%s", ", ");
  }

  private static String each(List<String> names, String pattern, String separator) {
    return names.stream().map(name -> pattern.formatted(quoted(name))).collect(Collectors.joining(separator));
  }

  private static String repeated(String text, int times, String separator) {
    return Stream.generate(() -> text).limit(times).collect(Collectors.joining(separator));
  }

  /** A name as SQL has it, whatever characters are in it. */
  static String quoted(String name) {
    return '`' + name.replace("`", "``") + '`';
  }

  /** A text as SQL has it, for statements that take no variables; in the SQL mode that {@link Login} sets. */
  static String literal(String text) {
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'";
  }
}
