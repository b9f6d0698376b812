package dohyo.jdbc;

import java.sql.Connection;
import java.sql.SQLException;

/** Where the server is, and how to open a connection to it. */
public interface Login {
  /**
   * Opens a connection, on which every statement is a transaction of its own.
   *
   * @throws SQLException if the server cannot be reached within {@code operationtimeout}
   */
  Connection connect() throws SQLException;

  /** The URL without what may stand behind it, such as a password. */
  String place();

  /** Where the server is: {@code HOST:PORT}. */
  String server();
}
