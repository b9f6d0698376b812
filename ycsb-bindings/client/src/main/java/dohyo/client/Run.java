package dohyo.client;

import dohyo.binding.Binding;
import dohyo.binding.SettingException;
import dohyo.binding.Settings;
import dohyo.workload.RecordWorkload;

/**
 * What one call of the client is to do, read from the properties and checked before anything is started.
 *
 * @param settings        all properties
 * @param workload        makes the operations
 * @param load            whether it loads, or runs the mix
 * @param threads         number of logical clients
 * @param events          whether logical clients run on the driver's threads and have none of their own
 * @param inflight        operations in flight per thread
 * @param target          operations per second over all threads, 0 for as fast as possible
 * @param poisson         whether operations are due at random times, and not at even distances
 * @param operations      most operations (in the load: records); 0 for no bound
 * @param warmupSeconds   longest time before the measured window
 * @param steady          whether it ends earlier when the throughput of all clients is steady
 * @param measuredSeconds length of the measured window, 0 where only the count bounds it
 * @param maxErrorRate    share of failed records above which the run is invalid; 0 for a load: its rows must be there
 * @param timeoutMillis   last bound on one operation
 * @param stallSeconds    time without any success after which the run is aborted; with a target at least
 *                        {@link #STALL_OPERATIONS}, of random arrivals {@link #STALL_ARRIVALS} times the mean time
 *                        between two operations of this client
 * @param retries         how often the binding may send a failed request again
 * @param insertRetries   how often a failed insert of the load is sent again by this client
 */
record Run(Settings settings, RecordWorkload workload, boolean load, int threads, boolean events, int inflight,
    double target, boolean poisson, long operations, double warmupSeconds, boolean steady, double measuredSeconds,
    double maxErrorRate, long timeoutMillis, double stallSeconds, int retries, int insertRetries) {

  /** One of a thousand clients may send an operation every two minutes: that is no stall. */
  private static final double STALL_OPERATIONS = 10;
  /** The probability that this many random arrivals are due in one gap is 10⁻¹³. */
  private static final double STALL_ARRIVALS = 30;

  /** The workload of stock YCSB; this client runs {@link RecordWorkload} in its place. */
  private static final String CORE_WORKLOAD = "site.ycsb.workloads.CoreWorkload";

  /**
   * Reads and checks everything.
   *
   * @throws SettingException if a property has an impossible value
   */
  static Run of(Settings settings) {
    String name = settings.text("workload", CORE_WORKLOAD);
    if (!name.equals(CORE_WORKLOAD) && !name.equals(RecordWorkload.class.getName())) {
      throw new SettingException("workload=" + name + ": this client runs " + CORE_WORKLOAD
          + "; run other workload classes with site.ycsb.Client and the same binding");
    }
    boolean load = !settings.flag("dotransactions", true);
    RecordWorkload workload = new RecordWorkload();
    workload.init(settings.properties());
    long operations = load ? workload.loadCount() : settings.whole("operationcount", 0, 0, Long.MAX_VALUE / 2);
    double seconds = settings.decimal("maxexecutiontime", 0, 0, 1e8);
    if (operations == 0 && seconds == 0 && !load) {
      throw new SettingException(
          "operationcount=0 and maxexecutiontime=0: a run is bounded by one of them; set maxexecutiontime in seconds");
    }
    int threads = settings.number("threadcount", 1, 1, 100_000);
    if (operations > 0 && operations < threads) {
      threads = (int) operations;
    }
    double target = settings.decimal("target", 0, 0, 1e12);
    boolean poisson = settings.choice("arrival", "uniform", "poisson").equals("poisson") && target > 0;
    return new Run(settings, workload, load, threads, events(settings),
        settings.number("inflight", 1, 1, 1_000_000),
        target,
        poisson,
        operations,
        load ? 0 : settings.decimal("warmuptime", 0, 0, 1e8),
        settings.choice("warmup", "fixed", "steady").equals("steady"),
        seconds,
        load ? 0 : settings.decimal("maxerrorrate", 0.001, 0, 1),
        Binding.operationTimeout(settings),
        Math.max(settings.decimal("stalltime", 60, 1, 1e8),
            target > 0 ? (poisson ? STALL_ARRIVALS : STALL_OPERATIONS) / target : 0),
        Binding.retries(settings),
        load ? settings.number("core_workload_insertion_retry_limit", 0, 0, 1_000_000) : 0);
  }

  private static boolean events(Settings settings) {
    String loop = settings.choice("client.loop", Bindings.create(settings).loops(settings));
    // For the binding, which under another client must expect one thread per logical client.
    settings.properties().setProperty("client.loop", loop);
    return loop.equals("events");
  }

  String phase() {
    return load ? "load" : "run";
  }
}
