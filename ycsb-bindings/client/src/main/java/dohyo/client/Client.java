package dohyo.client;

import dohyo.binding.SettingException;
import dohyo.binding.Settings;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import site.ycsb.DBException;
import site.ycsb.Utils;

/**
 * The benchmark client. It checks the properties, connects all threads, reports that it is ready, and waits for the
 * agreed start. Then it warms up, measures, waits for open operations, and prints the results. Options and result lines
 * equal those of {@code site.ycsb.Client}. Unlike that client, it has exit codes for runs that do not count: {@link
 * #BAD_INPUT}, {@link #NOT_CONNECTED}, {@link #INVALID}, {@link #DATABASE_FAILED}.
 */
public final class Client {
  /** Exit code of an error inside the client. */
  public static final int INTERNAL = 1;
  /** Exit code of an invalid option or property. The client has started nothing. */
  public static final int BAD_INPUT = 2;
  /** Exit code of a client with a thread that could not connect. */
  public static final int NOT_CONNECTED = 3;
  /** Exit code of a run that ended but does not count. */
  public static final int INVALID = 4;
  /** Exit code of a run in which too many records failed, or operations stopped succeeding. This is a result, too. */
  public static final int DATABASE_FAILED = 5;

  /** Time between two reports in seconds, and the interval of the histogram logs. */
  private static final long TICK_SECONDS = 1;
  /** Seconds that threads have to end after an abort. Threads that hang in a driver are abandoned then. */
  private static final long ABORT_SECONDS = 5;
  /** Seconds that the shutdown hook waits for the results of a run that a signal has aborted. */
  private static final long SHUTDOWN_SECONDS = 10;

  private final Run run;
  private final PrintStream results;
  private final PrintStream messages;
  private final Abort abort = new Abort();
  private final Instant launched = Instant.now();

  private Client(Run run, PrintStream results, PrintStream messages) {
    this.run = run;
    this.results = results;
    this.messages = messages;
  }

  /**
   * Runs the client and ends the process with its exit code.
   *
   * @param args see {@link Arguments#USAGE}
   */
  public static void main(String[] args) {
    if (List.of(args).contains("-help")) {
      System.out.print(Arguments.USAGE);
      System.exit(0);
    }
    System.err.println("Command line: " + String.join(" ", args));
    CountDownLatch finished = new CountDownLatch(1);
    Abort[] abort = new Abort[1];
    Runtime.getRuntime().addShutdownHook(new Thread(() -> {
      // After a signal, abort the run and let it write its results before the process ends.
      if (abort[0] != null) {
        abort[0].set("interrupted by a signal");
        try {
          finished.await(SHUTDOWN_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
        }
      }
    }));
    int exit = run(args, System.out, System.err, abort);
    System.out.flush();
    abort[0] = null;
    finished.countDown();
    System.exit(exit);
  }

  /**
   * Runs the client within the calling process.
   *
   * @param args     the command line
   * @param results  receives the result lines
   * @param messages receives status lines and the error
   * @param abort    receives the run's {@link Abort} as its first element when the run has been made
   * @return the exit code
   */
  static int run(String[] args, PrintStream results, PrintStream messages, Abort[] abort) {
    try {
      Properties properties = Arguments.parse(args);
      Settings settings = new Settings(properties);
      Results.percentiles(settings);
      Client client = new Client(Run.of(settings), results, messages);
      abort[0] = client.abort;
      return client.perform();
    } catch (SettingException e) {
      return fail(messages, BAD_INPUT, e.getMessage());
    } catch (DBException e) {
      return fail(messages, NOT_CONNECTED, e.getMessage());
    } catch (RunInvalidException e) {
      return fail(messages, INVALID, e.getMessage());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return fail(messages, INTERNAL, "interrupted");
    } catch (OutOfMemoryError e) {
      return fail(messages, INTERNAL, "out of memory: " + e.getMessage()
          + "; give the client more heap (client_heap), or set a lower threadcount, inflight or batchsize");
    } catch (IOException | RuntimeException e) {
      e.printStackTrace(messages);
      return fail(messages, INTERNAL, e.toString());
    }
  }

  private static int fail(PrintStream messages, int exit, String message) {
    messages.println("ERROR: " + message);
    messages.flush();
    return exit;
  }

  private int perform() throws DBException, RunInvalidException, IOException, InterruptedException {
    List<SharedHistograms> histograms = SharedHistograms.forThreads(run.threads());
    List<ThreadStatistics> statistics = new ArrayList<>();
    for (int i = 0; i < run.threads(); i++) {
      statistics.add(new ThreadStatistics(run.target() > 0, histograms.get(i % histograms.size())));
    }
    StartGate gate = new StartGate(run.settings());
    Reporter reporter = new Reporter(run, statistics, abort, messages);
    Workers workers = new Workers(run, statistics, abort);
    try {
      workers.connect();
      double connectSeconds = Duration.between(launched, Instant.now()).toNanos() / 1e9;
      messages.println("Starting test.");
      Instant agreed = gate.await(abort::isSet);
      if (agreed == null) {
        throw new RunInvalidException(abort.reason());
      }
      Window window = window(agreed);
      Warmup warmup = run.steady() && run.warmupSeconds() > 0 && !gate.isOpen()
          ? new Warmup(gate.folder(), window, statistics, abort) : null;
      reporter.begin(window);
      workers.release(window);
      Footprint footprint = watch(workers, reporter, window, warmup);
      workers.allowDisconnect();
      Results.Timing timing = timing(workers, window, gate.isOpen() ? null : agreed, connectSeconds);
      Results outcome = new Results(run, reporter, statistics, timing, footprint, workers.cleanup());
      return report(outcome, gate.folder());
    } finally {
      workers.close();
    }
  }

  private Window window(Instant agreed) {
    long begin = StartGate.nanoTime(agreed);
    long measure = begin + (long) (run.warmupSeconds() * 1e9);
    long length = run.measuredSeconds() == 0 ? Long.MAX_VALUE : (long) (run.measuredSeconds() * 1e9);
    return new Window(begin, measure, length);
  }

  /** Runs the reporter until all threads have ended. Returns {@code null} if the window never began. */
  private Footprint watch(Workers workers, Reporter reporter, Window window, Warmup warmup)
      throws IOException, InterruptedException {
    Footprint footprint = null;
    long next = window.measure();
    long givenUp = 0;
    boolean ended = false;
    Warmup open = warmup;
    while (!ended && (givenUp == 0 || System.nanoTime() - givenUp < TimeUnit.SECONDS.toNanos(ABORT_SECONDS))) {
      long longest = open != null ? Warmup.POLL_NANOS : TimeUnit.SECONDS.toNanos(TICK_SECONDS);
      ended = workers.awaitEnd(Math.max(1, Math.min(next - System.nanoTime(), longest)));
      if (open != null && (System.nanoTime() - window.measure() >= 0 || open.poll())) {
        open.end();
        open = null;
        workers.wake();
        reporter.measure();
        next = window.measure();
      }
      long now = System.nanoTime();
      if (footprint == null && window.hasBegun(now)) {
        footprint = new Footprint(workers.transports());
      } else if (footprint != null && window.isOver(now)) {
        footprint.sample();
      }
      if (now - next >= 0) {
        next += TimeUnit.SECONDS.toNanos(TICK_SECONDS);
      }
      if (!ended) {
        reporter.tick();
      }
      if (run.workload().ledger() != null) {
        // This code runs shortly after the end of a second; half a second earlier lies within that second.
        long middle = now - window.measure() - TimeUnit.SECONDS.toNanos(TICK_SECONDS) / 2;
        run.workload().ledger().tick(Math.floorDiv(middle, TimeUnit.SECONDS.toNanos(1)));
      }
      if (givenUp == 0 && abort.isSet()) {
        givenUp = now;
      }
    }
    if (footprint != null) {
      footprint.end();
    }
    reporter.end();
    return footprint;
  }

  private Results.Timing timing(Workers workers, Window window, Instant agreed, double connectSeconds) {
    // A run bounded by time has its configured length. A run bounded by count, or aborted, ends with its last answer.
    boolean full = !abort.isSet() && workers.reachedEnd();
    double measured = full ? run.measuredSeconds()
        : Math.max(0, workers.lastFinished() - workers.firstMeasured()) / 1e9;
    Double skew = agreed == null ? null : workers.skew() / 1e6;
    Double finished = agreed == null || workers.lastFinished() == 0 ? null
        : (workers.lastFinished() - window.begin()) / 1e6;
    return new Results.Timing(agreed == null ? null : agreed.toEpochMilli(), skew, finished, connectSeconds,
        (window.measure() - window.begin()) / 1e9, measured, workers.missed(),
        Utils.getGCTotalTime());
  }

  private int report(Results outcome, Path folder) throws IOException, InterruptedException {
    String reason = abort.isSet() ? abort.reason() : outcome.invalidReason();
    outcome.export(results);
    boolean databaseFailed = abort.isSet() ? abort.isOfDatabase() : outcome.hasTooManyErrors();
    int exit = reason == null ? 0 : databaseFailed ? DATABASE_FAILED : INVALID;
    // Read back last: the result lines contain only the run, and its threads have disconnected.
    if (run.workload().ledger() != null) {
      outcome.accounting(new ReadBack(run, abort, folder, messages).perform());
    }
    outcome.writeSummary(reason, exit);
    return reason == null ? 0 : fail(messages, exit, reason);
  }
}
