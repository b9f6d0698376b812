package dohyo.jdbc;

import dohyo.binding.Outcome;
import java.io.IOException;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLTransientConnectionException;
import site.ycsb.Status;

/** What differs between servers in SQL and errors. */
public interface Dialect {
  /** Beginning of the names of the binding's properties, as in {@code mysql.connections}. */
  String name();

  /** A quoted name, whatever its characters. */
  String quoted(String name);

  /**
   * The clause of an {@code INSERT} for an existing record, up to its assignments.
   *
   * @param key the quoted columns of the key, separated by commas
   */
  String onConflict(String key);

  /** The assignment of a field's new value; {@code %1$s} is its quoted name. */
  String replaces();

  /**
   * The same, but a field whose new value is NULL stays as it is.
   *
   * @param table its quoted name
   */
  String completes(String table);

  /** Whether {@code (a, b) >= (?, ?)} begins in the middle of an index. */
  boolean comparesRows();

  /** Whether one statement may write the same record twice. */
  boolean writesTwice();

  /** Whether the connection is unusable. */
  static boolean isBroken(SQLException error) {
    return error instanceof SQLNonTransientConnectionException || error instanceof SQLTransientConnectionException
        || error.getSQLState() != null && error.getSQLState().startsWith("08") || network(error) != null;
  }

  private static IOException network(Throwable error) {
    for (Throwable cause = error; cause != null; cause = cause.getCause()) {
      if (cause instanceof IOException network) {
        return network;
      }
    }
    return null;
  }

  /** Whether the statement conflicted with others, so that it may succeed another time. */
  boolean isRolledBack(SQLException error);

  /** The server's code of an error, which ends the name of its status; empty where it has none. */
  String code(SQLException error);

  /** Whether this error fails the whole statement, rather than a record that the server refuses. */
  default boolean concernsAll(SQLException error) {
    return isBroken(error) || isRolledBack(error);
  }

  /** Names an error after what happened on the network, else after the driver's exception and the server's code. */
  default Status status(SQLException error) {
    IOException network = network(error);
    if (network != null) {
      return Outcome.of(network);
    }
    Status status = Outcome.of(error);
    String code = code(error);
    return code.isEmpty() ? status : new Status(status.getName() + "_" + code, status.getDescription());
  }
}
