package dohyo.binding;

/**
 * Connections and threads that a binding uses to reach its servers. Instances that share a connection return the same
 * object.
 */
public interface Transport {
  /** Returns the current number of open connections to all servers. */
  int connections();

  /** Returns the number of the driver's threads that serve connections; 0 if the client's own threads serve them. */
  int eventLoops();

  /** Returns the number of retries so far. */
  long retries();

  /**
   * Returns the default number of event loops: the number of processors minus 1, at least 1. On a machine with two
   * processors, one event loop was faster than two with Aerospike's client. Other clients were not measured.
   */
  static int defaultEventLoops() {
    return Math.max(1, Runtime.getRuntime().availableProcessors() - 1);
  }

  /**
   * Reads the number of event loops.
   *
   * @param key property name
   * @throws SettingException if the value is not a number from 1 to 1024
   */
  static int eventLoops(Settings settings, String key) {
    return settings.number(key, defaultEventLoops(), 1, 1024);
  }

  /** Returns how many connections to each server are needed so that every event loop has at least one. */
  static int connectionsPerServer(int eventLoops, int servers) {
    return (eventLoops + servers - 1) / servers;
  }
}
