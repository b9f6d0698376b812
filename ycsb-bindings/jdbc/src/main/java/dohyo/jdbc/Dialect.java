package dohyo.jdbc;

import dohyo.binding.Outcome;
import java.io.IOException;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLTransientConnectionException;
import site.ycsb.Status;

/** SQL and errors that differ between servers. */
public interface Dialect {
  /** Returns the prefix of the binding's property names, as in {@code mysql.connections}. */
  String name();

  /** Returns a name in quotes. The name may contain any characters. */
  String quoted(String name);

  /**
   * Returns the clause of an {@code INSERT} for records that exist, without the assignments that follow it.
   *
   * @param key quoted columns of the key, separated by commas
   */
  String onConflict(String key);

  /** Returns the assignment of a field's new value. In it, {@code %1$s} is the field's quoted name. */
  String replaces();

  /**
   * Returns the assignment of a field's new value that keeps the old value if the new one is NULL.
   *
   * @param table quoted name of the table
   */
  String completes(String table);

  /** Returns whether the server uses an index for {@code (a, b) >= (?, ?)}. */
  boolean comparesRows();

  /** Returns whether one statement may write the same record twice. */
  boolean writesTwice();

  /** Returns whether an error makes the connection unusable. */
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

  /** Returns whether the statement conflicted with other statements, so that a retry may succeed. */
  boolean isRolledBack(SQLException error);

  /** Returns the server's code for an error, which is appended to the status's name; empty if there is no code. */
  String code(SQLException error);

  /** Returns whether an error concerns the whole statement instead of a record that the server rejects. */
  default boolean concernsAll(SQLException error) {
    return isBroken(error) || isRolledBack(error);
  }

  /**
   * Returns a status named after the network error, if there is one. Otherwise it is named after the driver's exception
   * and the server's code.
   */
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
