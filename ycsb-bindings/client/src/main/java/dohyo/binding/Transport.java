package dohyo.binding;

/** How a binding reaches its servers. Instances that share a connection give the same object. */
public interface Transport {
  /** Connections that are open to all servers together, as of now. */
  int connections();

  /** Threads of the driver that serve all connections; 0 where the client's threads do. */
  int eventLoops();

  /** The number of retries so far. */
  long retries();

  /**
   * How many event loops to make by default: one for each processor but one. On two processors one was faster than two
   * (Aerospike's client; not measured with others).
   */
  static int defaultEventLoops() {
    return Math.max(1, Runtime.getRuntime().availableProcessors() - 1);
  }

  /**
   * Reads how many event loops to make.
   *
   * @param key property name
   * @throws SettingException if it is no number from 1 to 1024
   */
  static int eventLoops(Settings settings, String key) {
    return settings.number(key, defaultEventLoops(), 1, 1024);
  }

  /** The fewest connections to each of so many servers with which every event loop has one. */
  static int connectionsPerServer(int eventLoops, int servers) {
    return (eventLoops + servers - 1) / servers;
  }
}
