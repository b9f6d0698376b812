package dohyo.cassandra;

import dohyo.binding.Columns;
import dohyo.binding.KeyColumns;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Identifies a statement of the binding.
 *
 * @param verb    the operation
 * @param table   table name
 * @param columns fields to read or write; {@code null} for all, and for verbs without fields
 */
public record Query(Verb verb, String table, Columns columns) {
  /** Name of the key's column if there is only one, as in the tables of stock YCSB. */
  public static final String KEY = "y_id";

  /** Statements of the binding. {@code CassandraBinding} sets their variables in the order of the text. */
  public enum Verb {
    READ, READ_IN, SCAN, INSERT, UPDATE, DELETE;

    boolean reads() {
      return this == READ || this == READ_IN || this == SCAN;
    }
  }

  /**
   * Returns the text of the statement. Names are quoted, because CQL converts unquoted names to lower case.
   *
   * @param key columns of the table's key; those after the partition key are clustering columns
   */
  String cql(KeyColumns key) {
    String name = quoted(table);
    String keys = each(key.names(), "%s", ", ");
    String where = " WHERE " + each(key.names(), "%s = ?", " AND ");
    return switch (verb) {
      case READ -> select(name, keys) + where;
      case READ_IN -> select(name, keys) + " WHERE " + keys + " IN ?";
      case SCAN -> select(name, keys) + " WHERE " + from(key) + " LIMIT ?";
      case INSERT -> "INSERT INTO " + name + " (" + fields("%s") + ", " + keys + ") VALUES (" + fields("?") + ", "
          + each(key.names(), "?", ", ") + ")";
      case UPDATE -> "UPDATE " + name + " SET " + fields("%s = ?") + where;
      case DELETE -> "DELETE FROM " + name + where;
    };
  }

  /**
   * Returns the primary key of the table: the partition key, and the clustering columns if there are several columns.
   */
  public static String primaryKey(KeyColumns key) {
    return key.several() ? "(" + partitionKey(key) + "), " + each(clustering(key), "%s", ", ") : partitionKey(key);
  }

  /** Returns the names of the columns that select a row's partition. */
  public static String partitionKey(KeyColumns key) {
    return each(partition(key), "%s", ", ");
  }

  /** Returns a name in quotes. The name may contain any characters. */
  public static String quoted(String name) {
    return '"' + name.replace("\"", "\"\"") + '"';
  }

  /** Returns a text in quotes, for statements that do not accept variables. */
  public static String literal(String text) {
    return "'" + text.replace("'", "''") + "'";
  }

  private static List<String> partition(KeyColumns key) {
    return key.names().subList(0, key.partition());
  }

  private static List<String> clustering(KeyColumns key) {
    return key.names().subList(key.partition(), key.names().size());
  }

  /**
   * Returns the condition that selects a record and those after it. With several key columns, a scan ends with the
   * partition. With one column, a scan continues in the order of tokens.
   */
  private static String from(KeyColumns key) {
    if (!key.several()) {
      return "token(" + partitionKey(key) + ") >= token(?)";
    }
    List<String> rest = clustering(key);
    return each(partition(key), "%s = ?", " AND ") + " AND " + (rest.size() == 1 ? quoted(rest.get(0)) + " >= ?"
        : "(" + each(rest, "%s", ", ") + ") >= (" + each(rest, "?", ", ") + ")");
  }

  // Puts the key's columns first, as SELECT * does.
  private String select(String name, String keys) {
    return "SELECT " + (columns == null ? "*" : keys + ", " + fields("%s")) + " FROM " + name;
  }

  private String fields(String pattern) {
    return each(columns.names(), pattern, ", ");
  }

  private static String each(List<String> names, String pattern, String separator) {
    return names.stream().map(name -> pattern.formatted(quoted(name))).collect(Collectors.joining(separator));
  }
}
