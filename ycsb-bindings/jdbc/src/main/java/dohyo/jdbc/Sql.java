package dohyo.jdbc;

import dohyo.binding.Columns;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Identifies a statement that is prepared once per connection.
 *
 * @param verb    the operation
 * @param table   table name
 * @param columns fields to read or write; {@code null} for all, and for verbs without fields
 * @param rows    number of records per execution
 */
public record Sql(Verb verb, String table, Columns columns, int rows) {
  /** Statements of the binding. {@link JdbcBinding} sets their variables in the order of the text. */
  public enum Verb {
    READ, SCAN, DELETE,
    /** Writes the given fields, whether the record exists or not. */
    UPSERT,
    /** Writes records with different fields: a field whose new value is NULL keeps its old value. */
    UPSERT_SOME
  }

  /**
   * Returns the text of the statement.
   *
   * @param dialect dialect of the server
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
   * Returns the condition for the records. With several key columns it consists of alternatives, because all servers
   * use the index for these. For {@code (a, b) IN ((?, ?), …)}, MariaDB would read the whole table (MDEV-10947).
   */
  private String is(Dialect dialect, List<String> key) {
    return key.size() == 1 && rows > 1 ? dialect.quoted(key.get(0)) + " IN (" + repeated("?", rows, ", ") + ")"
        : repeated(each(dialect, key, "%s = ?", " AND "), rows, " OR ");
  }

  /**
   * Returns the condition for a record and all records after it, in the order of the key. It is {@code (a, b) >= (?,
   * ?)}, or {@code a = ? AND b >= ? OR a > ?} for MariaDB and MySQL, which use the index only for this form.
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

  // Includes the key only in a read of several records, because the result must show which record a row belongs to.
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
