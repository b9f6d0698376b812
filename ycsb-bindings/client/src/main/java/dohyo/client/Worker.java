package dohyo.client;

import dohyo.binding.Binding;
import dohyo.binding.Outcome;
import dohyo.workload.Operation;
import dohyo.workload.OperationSource;
import dohyo.workload.RecordWorkload;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import site.ycsb.Status;

/**
 * One client thread: takes operations from its source, sends them when they are due, keeps up to {@code inflight} of
 * them on their way and records each when it has been answered. One in flight and many take the same road.
 */
final class Worker {
  /** How long it may sleep before it looks whether the run was given up, or operations have been open for too long. */
  private static final long GLANCE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

  private final Run run;
  private final Binding binding;
  private final OperationSource source;
  private final ThreadStatistics statistics;
  private final Pacer pacer;
  private final Window window;
  private final Abort abort;
  private final long quota;
  private final long timeoutNanos;
  private final Completions completions = new Completions();
  private final Consumer<Operation> whenDone = completions::add;
  private final InFlight open;
  private long now;
  private long nextGlance;
  private long measured;
  private long missed;
  private boolean hasSent;
  private long skew;
  private long firstMeasured;
  private long lastFinished;
  private boolean reachedEnd;

  Worker(Run run, int thread, Binding binding, Window window, ThreadStatistics statistics, Abort abort) {
    this.run = run;
    this.binding = binding;
    this.window = window;
    this.statistics = statistics;
    this.abort = abort;
    this.source = run.workload().source(thread, run.threads());
    this.pacer = new Pacer(run.target(), run.threads(), run.workload().shift(thread, run.threads()), window.begin());
    // The source of a load ends by itself; its bound is records, not operations.
    this.quota = run.load() || run.operations() == 0 ? Long.MAX_VALUE
        : RecordWorkload.part(run.operations(), thread + 1, run.threads())
            - RecordWorkload.part(run.operations(), thread, run.threads());
    this.open = new InFlight(run.inflight());
    this.timeoutNanos = TimeUnit.MILLISECONDS.toNanos(run.timeoutMillis());
  }

  /** Sends until the window is over, the count is reached or the run was given up, then waits for what is open. */
  void work() {
    // The first one is made before the start, so that no class is loaded at the agreed instant.
    now = System.nanoTime();
    nextGlance = now;
    Operation next = prepare();
    while (next != null && makeRoom() && waitForTurn()) {
      if (window.isOver(now)) {
        reachedEnd = true;
        // A key number that was handed out and never used would be missing in all later runs.
        if (next.isNewRecord()) {
          send(next);
        }
        break;
      }
      send(next);
      pacer.pass();
      next = prepare();
      takeAnswered();
    }
    if (reachedEnd || abort.isSet()) {
      missed = countMissed();
    }
    drain();
  }

  /**
   * Makes the next operation ahead of its time. There is none after the last one; nor when it would be due after the
   * window: then the end has come.
   */
  private Operation prepare() {
    if (measured >= quota) {
      return null;
    }
    if (pacer.hasTarget() && window.isOver(due())) {
      reachedEnd = waitForTurn();
      return null;
    }
    return source.next();
  }

  private void send(Operation operation) {
    long due = pacer.hasTarget() ? pacer.due() : now;
    open.add(operation);
    operation.start(binding, due, now, whenDone);
    if (!hasSent) {
      hasSent = true;
      skew = pacer.hasTarget() ? now - due : now - window.begin();
    }
    if (window.isMeasured(now)) {
      measured++;
      if (firstMeasured == 0) {
        firstMeasured = now;
      }
    }
  }

  /** Takes answers until the next operation is due, or the window is over; false if the run was given up meanwhile. */
  private boolean waitForTurn() {
    while (!abort.isSet()) {
      now = System.nanoTime();
      expire();
      // Asked anew each time: the window may have been moved.
      long turn = window.earlier(due());
      if (now - turn >= 0) {
        return true;
      }
      Operation answered = completions.poll(Math.min(turn, now + GLANCE_NANOS));
      if (answered != null) {
        finish(answered);
      }
    }
    return false;
  }

  /**
   * When the next operation is due. The grid begins anew with the measured window, so that what a cold server has left
   * undone in the warm-up is not measured.
   */
  private long due() {
    if (!pacer.hasTarget()) {
      return window.begin();
    }
    long measure = window.measure();
    if (pacer.begin() != measure && (window.hasBegun(now) || pacer.due() - measure >= 0)) {
      pacer.begin(measure);
    }
    return pacer.due();
  }

  private long countMissed() {
    now = System.nanoTime();
    if (!pacer.hasTarget() || !window.hasBegun(now)) {
      return 0;
    }
    long until = window.earlier(now);
    long count = 0;
    for (long due = due(); due - until < 0; due = pacer.due()) {
      pacer.pass();
      count++;
    }
    return count;
  }

  /** Waits until one more operation may be sent; false if the run was given up meanwhile. */
  private boolean makeRoom() {
    while (open.isFull()) {
      if (abort.isSet()) {
        return false;
      }
      takeOne();
    }
    return true;
  }

  private void drain() {
    while (!open.isEmpty() && !abort.isSet()) {
      takeOne();
    }
    abandon(0);
  }

  private void takeOne() {
    now = System.nanoTime();
    expire();
    Operation answered = completions.poll(now + GLANCE_NANOS);
    if (answered != null) {
      finish(answered);
    }
  }

  /** Gives up on what has been open for longer than the timeout, if it has not looked for that just before. */
  private void expire() {
    if (now - nextGlance >= 0) {
      nextGlance = now + GLANCE_NANOS;
      abandon(timeoutNanos);
    }
  }

  private void takeAnswered() {
    Operation answered;
    while ((answered = completions.poll()) != null) {
      finish(answered);
    }
  }

  /** Gives up on the operations that have been open for so long. */
  private void abandon(long age) {
    for (Operation operation : open.sentBefore(System.nanoTime() - age)) {
      if (operation.abandon()) {
        finish(operation);
      }
    }
    takeAnswered();
  }

  private void finish(Operation operation) {
    if (!open.remove(operation)) {
      return;
    }
    // A driver that waits itself cannot be left, and an answer may come just before the next look.
    if (operation.finished() - operation.started() > timeoutNanos) {
      operation.timeOut();
    }
    if (operation.retries() < run.insertRetries() && hasError(operation) && !abort.isSet()) {
      statistics.retry(operation);
      Operation again = operation.again();
      open.add(again);
      again.start(binding, operation.intended(), System.nanoTime(), whenDone);
      return;
    }
    source.finished(operation);
    if (window.isMeasured(operation.started())) {
      statistics.record(operation);
      lastFinished = operation.finished();
    } else if (!window.hasBegun(operation.started())) {
      statistics.warmup(operation);
    }
  }

  private static boolean hasError(Operation operation) {
    for (Status status : operation.statuses()) {
      if (Outcome.isError(status)) {
        return true;
      }
    }
    return false;
  }

  /** Whether it stopped because the window was over, and not because there was nothing more to do. */
  boolean reachedEnd() {
    return reachedEnd;
  }

  boolean hasSent() {
    return hasSent;
  }

  /** How much later than it should have been the first operation was sent, in nanoseconds. */
  long skew() {
    return skew;
  }

  /** How many operations were due in the measured window, and not sent in it. */
  long missed() {
    return missed;
  }

  /** When the first measured operation was sent, in {@link System#nanoTime}; 0 if there was none. */
  long firstMeasured() {
    return firstMeasured;
  }

  /** When the last measured operation had been answered, in {@link System#nanoTime}; 0 if there was none. */
  long lastFinished() {
    return lastFinished;
  }
}
