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
 * @param threads         number of threads
 * @param inflight        operations in flight per thread
 * @param target          operations per second over all threads, 0 for as fast as possible
 * @param operations      operations (of the load: records) at the most, 0 for no bound
 * @param warmupSeconds   time before the measured window, at the most
 * @param steady          whether it ends earlier when the throughput of all clients is steady
 * @param measuredSeconds length of the measured window, 0 where only the count bounds it
 * @param maxErrorRate    share of failed records above which the run is invalid; 0 for a load: its rows must be there
 * @param timeoutMillis   last bound on one operation
 * @param stallSeconds    time without any success after which the run is given up; with a target at least
 *                        {@link #STALL_OPERATIONS} times that between two operations of this client
 * @param insertRetries   how often a failed insert of the load is sent again
 */
record Run(Settings settings, RecordWorkload workload, boolean load, int threads, int inflight, double target,
    long operations, double warmupSeconds, boolean steady, double measuredSeconds, double maxErrorRate,
    long timeoutMillis, double stallSeconds, int insertRetries) {

  /** One of a thousand clients may send an operation every two minutes: that is no stall. */
  private static final double STALL_OPERATIONS = 10;

  /** The workload of stock YCSB that {@link RecordWorkload} stands in for. */
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
    return new Run(settings, workload, load, threads,
        settings.number("inflight", 1, 1, 1_000_000),
        target,
        operations,
        load ? 0 : settings.decimal("warmuptime", 0, 0, 1e8),
        settings.choice("warmup", "fixed", "steady").equals("steady"),
        seconds,
        load ? 0 : settings.decimal("maxerrorrate", 0.001, 0, 1),
        Binding.operationTimeout(settings),
        Math.max(settings.decimal("stalltime", 60, 1, 1e8), target > 0 ? STALL_OPERATIONS / target : 0),
        load ? settings.number("core_workload_insertion_retry_limit", 0, 0, 1_000_000) : 0);
  }

  String phase() {
    return load ? "load" : "run";
  }
}
