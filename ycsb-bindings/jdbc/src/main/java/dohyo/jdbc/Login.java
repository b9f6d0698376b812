package dohyo.jdbc;

import java.sql.Connection;
import java.sql.SQLException;

/** Address of a server and the settings for connecting to it. */
public interface Login {
  /**
   * Opens a connection, on which every statement is a separate transaction.
   *
   * @throws SQLException if the server cannot be reached within {@code operationtimeout}
   */
  Connection connect() throws SQLException;

  /** Returns the URL without its parameters, which may include a password. */
  String place();

  /** Returns the address {@code HOST:PORT} of the server. */
  String server();
}
