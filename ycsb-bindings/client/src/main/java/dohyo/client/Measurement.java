package dohyo.client;

import java.io.IOException;
import java.io.PrintStream;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;

/** One warm-up and one measured window of a client, with their reports and results. */
final class Measurement {
  /** Time between two reports in seconds, and the interval of the histogram logs. */
  private static final long TICK_SECONDS = 1;
  /** Seconds within which threads must end after an abort. After that, threads that hang in a driver are abandoned. */
  private static final long ABORT_SECONDS = 5;

  private final Run run;
  private final Abort abort;
  private final StartGate gate;
  private final boolean steady;
  private final double warmupSeconds;
  private final PrintStream results;
  private final PrintStream messages;
  private final List<ThreadStatistics> statistics = new ArrayList<>();
  private final Reporter reporter;

  /**
   * Prepares a measurement.
   *
   * @param steady        whether the warm-up ends early when the throughput of all clients is steady
   * @param warmupSeconds maximum length of the warm-up
   * @param results       receives the result lines
   * @param messages      receives status lines and the error
   */
  Measurement(Run run, Abort abort, StartGate gate, boolean steady, double warmupSeconds, PrintStream results,
      PrintStream messages) {
    this.run = run;
    this.abort = abort;
    this.gate = gate;
    this.steady = steady;
    this.warmupSeconds = warmupSeconds;
    this.results = results;
    this.messages = messages;
    List<SharedHistograms> histograms = SharedHistograms.forThreads(run.threads());
    for (int i = 0; i < run.threads(); i++) {
      statistics.add(new ThreadStatistics(run.target() > 0, histograms.get(i % histograms.size())));
    }
    reporter = new Reporter(run, statistics, abort, messages);
  }

  /**
   * Waits for the agreed start, measures and writes the results.
   *
   * @param connectSeconds time from the start of the process until all threads were connected
   * @param last           whether the threads disconnect after this measurement
   * @return the exit code
   */
  int perform(Workers workers, double connectSeconds, boolean last)
      throws RunInvalidException, IOException, InterruptedException {
    Instant agreed = gate.await(abort::isSet);
    if (agreed == null) {
      throw new RunInvalidException(abort.reason());
    }
    Window window = window(agreed);
    Warmup warmup = steady && warmupSeconds > 0 && !gate.isOpen()
        ? new Warmup(gate.folder(), window, statistics, abort) : null;
    reporter.begin(window);
    Workers.Turn turn = workers.release(window, statistics);
    Footprint footprint = watch(workers, turn, window, warmup);
    Histogram cleanup = SharedHistograms.histogram();
    if (last || abort.isSet()) {
      workers.allowDisconnect();
      cleanup = workers.cleanup();
    }
    Results.Timing timing = timing(turn, window, gate.isOpen() ? null : agreed, connectSeconds);
    turn.forget();
    return report(new Results(run, reporter, statistics, timing, footprint, cleanup));
  }

  private Window window(Instant agreed) {
    long begin = StartGate.nanoTime(agreed);
    long measure = begin + (long) (warmupSeconds * 1e9);
    long length = run.measuredSeconds() == 0 ? Long.MAX_VALUE : (long) (run.measuredSeconds() * 1e9);
    return new Window(begin, measure, length);
  }

  /** Runs the reporter until all threads end or are abandoned. Returns {@code null} if the window never began. */
  private Footprint watch(Workers workers, Workers.Turn turn, Window window, Warmup warmup)
      throws IOException, InterruptedException {
    Footprint footprint = null;
    long next = window.measure();
    long givenUp = 0;
    boolean ended = false;
    Warmup open = warmup;
    while (!ended && (givenUp == 0 || System.nanoTime() - givenUp < TimeUnit.SECONDS.toNanos(ABORT_SECONDS))) {
      long longest = open != null ? Warmup.POLL_NANOS : TimeUnit.SECONDS.toNanos(TICK_SECONDS);
      ended = turn.awaitEnd(Math.max(1, Math.min(next - System.nanoTime(), longest)));
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
        // This code normally runs shortly after the end of a second, so half a second ago was within that second.
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

  private Results.Timing timing(Workers.Turn turn, Window window, Instant agreed, double connectSeconds) {
    // A run limited by time has its configured length. A run limited by count, or aborted, ends with the last answer.
    boolean full = !abort.isSet() && turn.reachedEnd();
    double measured = full ? run.measuredSeconds()
        : Math.max(0, turn.lastFinished() - turn.firstMeasured()) / 1e9;
    Double skew = agreed == null ? null : turn.skew() / 1e6;
    Double finished = agreed == null || turn.lastFinished() == 0 ? null
        : (turn.lastFinished() - window.begin()) / 1e6;
    return new Results.Timing(agreed == null ? null : agreed.toEpochMilli(), skew, finished, connectSeconds,
        (window.measure() - window.begin()) / 1e9, measured, turn.missed());
  }

  private int report(Results outcome) throws IOException, InterruptedException {
    String reason = abort.isSet() ? abort.reason() : outcome.invalidReason();
    outcome.export(results);
    results.flush();
    boolean databaseFailed = abort.isSet() ? abort.isOfDatabase() : outcome.hasTooManyErrors();
    int exit = reason == null ? 0 : databaseFailed ? Client.DATABASE_FAILED : Client.INVALID;
    // Read the records back last, when the result lines are written and the threads have disconnected.
    if (run.workload().ledger() != null) {
      outcome.accounting(new ReadBack(run, abort, gate.folder(), messages).perform());
    }
    outcome.writeSummary(reason, exit);
    return reason == null ? 0 : Client.fail(messages, exit, reason);
  }
}
