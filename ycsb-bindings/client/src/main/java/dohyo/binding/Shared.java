package dohyo.binding;

import site.ycsb.DBException;

/**
 * The connection that all instances of a binding in this process share. The first instance opens it. The last instance
 * to release it closes it.
 *
 * @param <C> the connection; its {@code close} waits until all its resources are released
 */
public final class Shared<C extends Shared.Connection> {
  private final Opener<C> opener;
  private C current;
  private int users;

  /** A connection that instances can share. */
  @FunctionalInterface
  public interface Connection {
    /** Closes the connection and ignores failures. */
    void close();
  }

  /**
   * Opens a connection.
   *
   * @param <C> type of the connection
   */
  @FunctionalInterface
  public interface Opener<C> {
    /**
     * Opens a connection.
     *
     * @throws DBException      if the database cannot be reached
     * @throws SettingException if a property has an invalid value
     */
    C open(Settings settings) throws DBException;
  }

  public Shared(Opener<C> opener) {
    this.opener = opener;
  }

  /**
   * Returns the connection. The first call opens it.
   *
   * @param settings the client's properties, the same for all instances
   * @throws DBException if the database cannot be reached
   */
  public synchronized C open(Settings settings) throws DBException {
    if (users == 0) {
      current = opener.open(settings);
    }
    users++;
    return current;
  }

  /** Releases the connection. Must be called once for each {@link #open}. */
  public synchronized void release() {
    users--;
    if (users == 0) {
      current.close();
      current = null;
    }
  }
}
