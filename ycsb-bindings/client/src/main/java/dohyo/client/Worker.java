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
  /** How long it may sleep before it looks whether the run was given up. */
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
  private long measured;
  private long firstSent;
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
    this.pacer = new Pacer(run.target(), thread, run.threads(), window.begin());
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
    Operation next = source.next();
    waitFor(window.begin());
    while (next != null && !abort.isSet() && measured < quota) {
      long due = pacer.hasTarget() ? pacer.nextDue() : 0;
      if (pacer.hasTarget() && !waitFor(due) || !makeRoom()) {
        break;
      }
      long now = System.nanoTime();
      if (window.isOver(now)) {
        reachedEnd = true;
        // A key number that was handed out and never used would be missing in all later runs.
        if (next.isNewRecord()) {
          send(next, now, now);
        }
        break;
      }
      send(next, pacer.hasTarget() ? due : now, now);
      next = measured < quota ? source.next() : null;
      takeAnswered();
    }
    drain();
  }

  private void send(Operation operation, long due, long now) {
    open.add(operation);
    operation.start(binding, due, now, whenDone);
    if (firstSent == 0) {
      firstSent = now;
    }
    if (window.isMeasured(now)) {
      measured++;
      if (firstMeasured == 0) {
        firstMeasured = now;
      }
    }
  }

  /** Takes answers until a time, or the end of the window; false if the run was given up meanwhile. */
  private boolean waitFor(long due) {
    while (!abort.isSet()) {
      long now = System.nanoTime();
      // Asked anew each time: the window may have been moved.
      long until = window.earlier(due);
      if (now - until >= 0) {
        return true;
      }
      Operation answered = completions.poll(Math.min(until, now + GLANCE_NANOS));
      if (answered != null) {
        finish(answered);
      }
    }
    return false;
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
    Operation answered = completions.poll(System.nanoTime() + GLANCE_NANOS);
    if (answered != null) {
      finish(answered);
    } else {
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
    } else {
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

  /** When the first operation was sent, in {@link System#nanoTime}; 0 if there was none. */
  long firstSent() {
    return firstSent;
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
