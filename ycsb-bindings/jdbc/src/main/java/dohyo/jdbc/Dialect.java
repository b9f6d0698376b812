package dohyo.jdbc;

import dohyo.binding.Outcome;
import java.io.IOException;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLTransientConnectionException;
import site.ycsb.Status;

/** What the SQL and the errors of one server have of their own. */
public interface Dialect {
  /** Beginning of the names of the binding's properties, as in {@code mysql.connections}. */
  String name();

  /** A name as SQL has it, whatever characters are in it. */
  String quoted(String name);

  /**
   * What an {@code INSERT} does with a record that is there, up to its assignments.
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

  /** Whether the connection is of no more use. */
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

  /** Whether the statement met others at its records, so that it may succeed another time. */
  boolean isRolledBack(SQLException error);

  /** The server's code of an error, which ends the name of its status; empty where it has none. */
  String code(SQLException error);

  /** Whether the whole statement is lost for this, and not for a record that the server refuses. */
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
