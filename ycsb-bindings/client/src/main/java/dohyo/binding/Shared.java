package dohyo.binding;

import site.ycsb.DBException;

/**
 * The one connection of a process: opened for the first instance of a binding that asks for it, closed when the last
 * one has let go of it.
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
    /** Closes it; a failure at that is nobody's concern any more. */
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
   * Gives the connection, which is opened if nobody has it.
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

  /** Lets go of it; called once for each {@link #open}. */
  public synchronized void release() {
    users--;
    if (users == 0) {
      current.close();
      current = null;
    }
  }
}
