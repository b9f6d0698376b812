package dohyo.jdbc;

import dohyo.binding.Columns;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * The key of a statement that is prepared once per connection.
 *
 * @param verb    what is done
 * @param table   table name
 * @param columns fields read or written; {@code null} for all, and where there are none
 * @param rows    records that one execution carries
 */
public record Sql(Verb verb, String table, Columns columns, int rows) {
  /** The statements that this binding knows; the order of their variables is that of {@link JdbcBinding}. */
  public enum Verb {
    READ, SCAN, DELETE,
    /** Writes the fields given, whether the record is there or not. */
    UPSERT,
    /** The same, but a field that is NULL stays as it is: for records that have different fields. */
    UPSERT_SOME
  }

  /**
   * The statement's text.
   *
   * @param dialect the server's
   * @param key     names of the key's columns
   */
  public String text(Dialect dialect, List<String> key) {
    String name = dialect.quoted(table);
    return switch (verb) {
      case READ -> "SELECT " + fields(dialect, key) + " FROM " + name + " WHERE " + is(dialect, key);
      case SCAN -> "SELECT " + fields(dialect, key) + " FROM " + name + " WHERE " + from(dialect, key)
          + " ORDER BY " + each(dialect, key, "%s", ", ") + " LIMIT ?";
      case DELETE -> "DELETE FROM " + name + " WHERE " + is(dialect, key);
      case UPSERT -> upsert(dialect, name, key, dialect.replaces());
      case UPSERT_SOME -> upsert(dialect, name, key, dialect.completes(name));
    };
  }

  /**
   * Which records are meant. Of several columns it is no list of rows, {@code (a, b) IN ((?, ?), …)}: with that MariaDB
   * would read the whole table (MDEV-10947), while all servers look up each of the alternatives in the index.
   */
  private String is(Dialect dialect, List<String> key) {
    return key.size() == 1 && rows > 1 ? dialect.quoted(key.get(0)) + " IN (" + repeated("?", rows, ", ") + ")"
        : repeated(each(dialect, key, "%s = ?", " AND "), rows, " OR ");
  }

  /**
   * All from a record on, in the order of the key: {@code (a, b) >= (?, ?)}. MariaDB and MySQL would not begin in the
   * middle of the index with that, but do with {@code a = ? AND b >= ? OR a > ?}.
   */
  private static String from(Dialect dialect, List<String> key) {
    if (dialect.comparesRows()) {
      return "(" + each(dialect, key, "%s", ", ") + ") >= (" + repeated("?", key.size(), ", ") + ")";
    }
    return IntStream.iterate(key.size(), size -> size > 0, size -> size - 1)
        .mapToObj(size -> Stream.concat(key.stream().limit(size - 1).map(name -> dialect.quoted(name) + " = ?"),
            Stream.of(dialect.quoted(key.get(size - 1)) + (size == key.size() ? " >= ?" : " > ?")))
            .collect(Collectors.joining(" AND ")))
        .collect(Collectors.joining(" OR "));
  }

  private String upsert(Dialect dialect, String name, List<String> key, String assignment) {
    return "INSERT INTO " + name + " (" + each(dialect, key, "%s", ", ") + ", " + fields(dialect, key) + ") VALUES "
        + repeated("(" + repeated("?", key.size() + columns.size(), ", ") + ")", rows, ", ")
        + " " + dialect.onConflict(each(dialect, key, "%s", ", ")) + " "
        + each(dialect, columns.names(), assignment, ", ");
  }

  // Only a read of several records has to tell them apart.
  private String fields(Dialect dialect, List<String> key) {
    return columns == null ? "*" : (verb == Verb.READ && rows > 1 ? each(dialect, key, "%s", ", ") + ", " : "")
        + each(dialect, columns.names(), "%s", ", ");
  }

  private static String each(Dialect dialect, List<String> names, String pattern, String separator) {
    return names.stream().map(name -> pattern.formatted(dialect.quoted(name))).collect(Collectors.joining(separator));
  }

  private static String repeated(String text, int times, String separator) {
    return Stream.generate(() -> text).limit(times).collect(Collectors.joining(separator));
  }
}
