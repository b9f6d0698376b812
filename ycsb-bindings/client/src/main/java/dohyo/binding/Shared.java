package dohyo.binding;

import site.ycsb.DBException;

/**
 * The one connection of a process. It is opened for the first instance of a binding, and closed when the last instance
 * has released it.
 *
 * @param <C> the connection, whose {@code close} waits until nothing of it is left
 */
public final class Shared<C extends Shared.Connection> {
  private final Opener<C> opener;
  private C current;
  private int users;

  /** What can be shared. */
  @FunctionalInterface
  public interface Connection {
    /** Closes it; failures are ignored. */
    void close();
  }

  /**
   * Opens a connection.
   *
   * @param <C> the connection
   */
  @FunctionalInterface
  public interface Opener<C> {
    /**
     * Opens a connection.
     *
     * @throws DBException      if the database cannot be reached
     * @throws SettingException if a property has an impossible value
     */
    C open(Settings settings) throws DBException;
  }

  public Shared(Opener<C> opener) {
    this.opener = opener;
  }

  /**
   * Returns the connection, and opens it for the first user.
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

  /** Releases it; called once for each {@link #open}. */
  public synchronized void release() {
    users--;
    if (users == 0) {
      current.close();
      current = null;
    }
  }
}
