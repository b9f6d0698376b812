package dohyo.client;

import dohyo.binding.Binding;
import dohyo.binding.SettingException;
import dohyo.binding.Settings;
import dohyo.workload.RecordWorkload;
import java.nio.file.Path;
import java.util.Properties;
import java.util.stream.IntStream;

/**
 * Configuration of one run of the client, checked before anything is started.
 *
 * @param settings        all properties
 * @param workload        generates the operations
 * @param load            whether the client loads instead of running the mix
 * @param threads         number of logical clients
 * @param events          whether logical clients run on the driver's threads instead of their own
 * @param inflight        operations in flight per thread
 * @param target          operations per second over all threads, 0 for no limit
 * @param poisson         whether operations are due at random times instead of at equal intervals
 * @param operations      maximum number of operations (in a load: records), 0 for no limit
 * @param warmupSeconds   maximum length of the warm-up
 * @param steady          whether the warm-up ends earlier when the throughput of all clients is steady
 * @param windows         number of measured windows; between windows, the client pauses with open connections
 * @param warmupAgainSeconds length of the warm-up before each window but the first
 * @param measuredSeconds length of the measured window, 0 if only the count limits it
 * @param maxErrorRate    share of failed records above which the run is invalid; 0 for a load, whose records must all
 *                        exist
 * @param timeoutMillis   timeout of one operation
 * @param stallSeconds    time without a success after which the run is aborted: {@code stalltime}. With a target, it is
 *                        at least {@link #STALL_OPERATIONS} times the mean time between two operations of this client,
 *                        or {@link #STALL_ARRIVALS} times if the intervals are random
 * @param retries         maximum number of times that the binding sends a failed request again
 * @param insertRetries   maximum number of times that this client sends a failed insert of the load again
 */
record Run(Settings settings, RecordWorkload workload, boolean load, int threads, boolean events, int inflight,
    double target, boolean poisson, long operations, double warmupSeconds, boolean steady, int windows,
    double warmupAgainSeconds, double measuredSeconds,
    double maxErrorRate, long timeoutMillis, double stallSeconds, int retries, int insertRetries) {

  /**
   * Minimum stall time in intervals, if these are equal. One of a thousand clients may send only once in two minutes.
   */
  private static final double STALL_OPERATIONS = 10;
  /** Minimum stall time in mean intervals, if these are random. One is that long with a probability of e⁻³⁰ ≈ 10⁻¹³. */
  private static final double STALL_ARRIVALS = 30;

  /** Class name of stock YCSB's workload. This client runs {@link RecordWorkload} instead. */
  private static final String CORE_WORKLOAD = "site.ycsb.workloads.CoreWorkload";

  /**
   * Reads and checks all properties.
   *
   * @throws SettingException if a property has an invalid value
   */
  static Run of(Settings settings) {
    String name = settings.text("workload", CORE_WORKLOAD);
    if (!name.equals(CORE_WORKLOAD) && !name.equals(RecordWorkload.class.getName())) {
      throw new SettingException("workload=" + name + ": must be " + CORE_WORKLOAD
          + "; run others with site.ycsb.Client and the same binding");
    }
    boolean load = !settings.flag("dotransactions", true);
    RecordWorkload workload = new RecordWorkload();
    workload.init(settings.properties());
    int given = settings.number("threadcount", 1, 1, 100_000);
    long operations = load ? workload.loadCount()
        : IntStream.range(0, given).mapToLong(thread -> workload.operations(thread, given)).sum();
    double seconds = settings.decimal("maxexecutiontime", 0, 0, 1e8);
    if (operations == 0 && seconds == 0 && !load) {
      throw new SettingException(
          "operationcount=" + settings.text("operationcount", "0") + " and maxexecutiontime=0: a run needs a limit;"
              + " set maxexecutiontime in seconds");
    }
    int threads = operations > 0 && operations < given ? (int) operations : given;
    double target = settings.decimal("target", 0, 0, 1e12);
    boolean poisson = settings.choice("arrival", "uniform", "poisson").equals("poisson") && target > 0;
    return new Run(settings, workload, load, threads, events(settings),
        settings.number("inflight", 1, 1, 1_000_000),
        target,
        poisson,
        operations,
        load ? 0 : settings.decimal("warmuptime", 0, 0, 1e8),
        settings.choice("warmup", "fixed", "steady").equals("steady"),
        windows(settings, load),
        settings.decimal("warmuptime.again", 0, 0, 1e8),
        seconds,
        load ? 0 : settings.decimal("maxerrorrate", 0.001, 0, 1),
        Binding.operationTimeout(settings),
        Math.max(settings.decimal("stalltime", 60, 1, 1e8),
            target > 0 ? (poisson ? STALL_ARRIVALS : STALL_OPERATIONS) / target : 0),
        Binding.retries(settings),
        load ? settings.number("core_workload_insertion_retry_limit", 0, 0, 1_000_000) : 0);
  }

  private static int windows(Settings settings, boolean load) {
    int windows = settings.number("windows", 1, 1, 10_000);
    if (windows > 1 && (load || !settings.has("startgate") || !settings.text("verify", "none").equals("none"))) {
      throw new SettingException(
          "windows=" + windows + ": a client pauses only in a run with startgate and verify=none");
    }
    return windows;
  }

  /** Directs the results of the next window to its folder, and resets the counts to cover only that window. */
  void continueIn(Path folder) {
    Properties properties = settings.properties();
    properties.setProperty("client.summary", folder.resolve("client.json").toString());
    properties.setProperty("hdrhistogram.output.path", folder + "/");
    workload.beginRun();
  }

  private static boolean events(Settings settings) {
    String loop = settings.choice("client.loop", Bindings.create(settings).loops(settings));
    // Pass the choice to the binding. Stock YCSB does not set this property, and has a thread for each logical client.
    settings.properties().setProperty("client.loop", loop);
    return loop.equals("events");
  }

  String phase() {
    return load ? "load" : "run";
  }
}
