package dohyo.cassandra;

import dohyo.binding.Columns;
import java.util.stream.Collectors;

/**
 * What is prepared once.
 *
 * @param verb    what is done
 * @param table   table name
 * @param columns fields read or written; {@code null} for all, and where there are none
 */
record Query(Verb verb, String table, Columns columns) {
  /** The statements that this binding knows; the order of their variables is that of {@code CassandraBinding}. */
  enum Verb {
    READ, READ_IN, SCAN, INSERT, UPDATE, DELETE;

    boolean reads() {
      return this == READ || this == READ_IN || this == SCAN;
    }
  }

  /** The statement's text; names are quoted, since CQL folds the others to lower case. */
  String cql() {
    String name = quoted(table);
    return switch (verb) {
      case READ -> select(name) + " WHERE y_id = ?";
      case READ_IN -> select(name) + " WHERE y_id IN ?";
      case SCAN -> select(name) + " WHERE token(y_id) >= token(?) LIMIT ?";
      case INSERT -> "INSERT INTO " + name + " (" + fields(", %s") + ", y_id) VALUES (" + fields(", ?") + ", ?)";
      case UPDATE -> "UPDATE " + name + " SET " + fields(", %s = ?") + " WHERE y_id = ?";
      case DELETE -> "DELETE FROM " + name + " WHERE y_id = ?";
    };
  }

  // The key always comes first, as it does in SELECT *.
  private String select(String name) {
    return columns == null ? "SELECT * FROM " + name : "SELECT y_id, " + fields(", %s") + " FROM " + name;
  }

  private String fields(String pattern) {
    return columns.names().stream().map(column -> pattern.formatted(quoted(column))).collect(Collectors.joining())
        .substring(2);
  }

  private static String quoted(String name) {
    return '"' + name.replace("\"", "\"\"") + '"';
  }
}
