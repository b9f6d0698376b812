package dohyo.client;

import dohyo.binding.Binding;
import dohyo.binding.Outcome;
import dohyo.workload.RecordWorkload;
import dohyo.workload.Request;
import dohyo.workload.RequestSource;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import site.ycsb.Status;

/**
 * One logical client: takes requests from its source, sends them when they are due, keeps up to {@code inflight} of
 * them on their way and records each when it has been answered. It has no thread: whoever has something for it calls
 * {@link #advance}, one thread at a time ({@link OwnThread}, {@link DriverThreads}).
 */
final class Worker {
  /** What {@link #advance} returns when there is nothing to do before the next answer. */
  static final long ANSWER = Long.MAX_VALUE;
  /** How often {@link #advance} looks for operations that have been open for too long. */
  static final long GLANCE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

  /** So many operations may be sent, and as many answers taken at a time, in one call: others wait for the thread. */
  private static final int MOST_AT_ONCE = 64;

  private final Run run;
  private final Binding binding;
  private final RequestSource source;
  private final ThreadStatistics statistics;
  private final Pacer pacer;
  private final Window window;
  private final Abort abort;
  private final long quota;
  private final long timeoutNanos;
  private final Completions completions;
  private final Consumer<Call> whenDone;
  private final InFlight open;
  private Call next;
  private boolean isSending = true;
  private boolean hasEnded;
  private long now = System.nanoTime();
  private long turn;
  private long nextGlance = now;
  private long measured;
  private long missed;
  private boolean hasSent;
  private boolean isLate;
  private long firstDue;
  private long skew;
  private long firstMeasured;
  private long lastFinished;
  private boolean reachedEnd;

  Worker(Run run, int number, Binding binding, Window window, Pacer pacer, ThreadStatistics statistics, Abort abort,
      Completions completions) {
    this.run = run;
    this.binding = binding;
    this.window = window;
    this.statistics = statistics;
    this.abort = abort;
    this.completions = completions;
    this.whenDone = completions::add;
    this.source = run.workload().source(number, run.threads());
    this.pacer = pacer;
    // The source of a load ends by itself; its bound is records, not operations.
    this.quota = run.load() || run.operations() == 0 ? Long.MAX_VALUE
        : RecordWorkload.part(run.operations(), number + 1, run.threads())
            - RecordWorkload.part(run.operations(), number, run.threads());
    this.open = new InFlight(run.inflight());
    this.timeoutNanos = TimeUnit.MILLISECONDS.toNanos(run.timeoutMillis());
  }

  /**
   * Takes what has been answered and sends what is due. Sends until the window is over, the count is reached or the run
   * was given up, then waits for what is open; then it {@link #hasEnded}.
   *
   * @return after how many nanoseconds it is to be called again, unless an answer comes, {@link #untilTimeout} has
   *         passed, the run is given up or the window is moved; 0 for at once, {@link #ANSWER} for not before
   */
  long advance() {
    long wait = 0;
    now = System.nanoTime();
    for (int sent = 0; wait == 0 && !hasEnded && sent < MOST_AT_ONCE; sent++) {
      expire();
      takeAnswered();
      wait = isSending ? sendNext() : ANSWER;
      if (!completions.isEmpty()) {
        wait = 0;
      }
      if (!isSending && (open.isEmpty() || abort.isSet())) {
        abandon(0);
        hasEnded = true;
      }
    }
    return wait;
  }

  /**
   * Makes the next operation ahead of its time, and sends it if it is due and there is room.
   *
   * @return as {@link #advance}
   */
  private long sendNext() {
    // One that is due after the window is not made: the end has come. A time of a moment ago is good enough for that.
    if (next == null && !(pacer.hasTarget() && window.isOver(due()))) {
      Request request = measured < quota ? source.next() : null;
      if (request == null) {
        stop();
        return 0;
      }
      next = new Call(request);
    }
    if (abort.isSet()) {
      stop();
      return 0;
    }
    if (open.isFull()) {
      return ANSWER;
    }
    now = System.nanoTime();
    // Asked anew: the window may have begun since, or have been moved.
    turn = window.earlier(due());
    if (now - turn < 0) {
      return turn - now;
    }
    if (window.isOver(now)) {
      reachedEnd = true;
      // A key number that was handed out and never used would be missing in all later runs.
      if (next != null && next.request() instanceof Request.Insert insert && insert.isNew()) {
        send(next);
      }
      stop();
      return 0;
    }
    send(next);
    next = null;
    pacer.pass();
    return 0;
  }

  private void stop() {
    isSending = false;
    if (reachedEnd || abort.isSet()) {
      missed = countMissed();
    }
  }

  private void send(Call call) {
    long due = pacer.hasTarget() ? pacer.due() : now;
    open.add(call);
    call.start(binding, due, now, whenDone);
    if (!hasSent) {
      hasSent = true;
      skew = now - (pacer.hasTarget() ? isLate ? firstDue : due : window.begin());
    }
    if (window.isMeasured(now)) {
      measured++;
      if (firstMeasured == 0) {
        firstMeasured = now;
      }
    }
  }

  /**
   * When the next operation is due. They begin anew with the measured window, so that what a cold server has left
   * undone in the warm-up is not measured.
   */
  private long due() {
    if (!pacer.hasTarget()) {
      return window.begin();
    }
    long measure = window.measure();
    if (pacer.begin() != measure && (window.hasBegun(now) || pacer.due() - measure >= 0)) {
      // It has not sent even what was due first in the warm-up.
      isLate = !hasSent && pacer.due() - measure < 0;
      firstDue = pacer.due();
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

  /** Gives up on what has been open for longer than the timeout, if it has not looked for that just before. */
  private void expire() {
    if (now - nextGlance >= 0) {
      nextGlance = now + GLANCE_NANOS;
      abandon(timeoutNanos);
    }
  }

  /** After how many nanoseconds {@link #advance} finds the next operation that has been open for too long. */
  long untilTimeout() {
    long time = System.nanoTime();
    long left = open.isEmpty() ? ANSWER : timeoutNanos - (time - open.oldest());
    return Math.max(left, nextGlance - time);
  }

  private void takeAnswered() {
    Call answered;
    for (int taken = 0; taken < MOST_AT_ONCE && (answered = completions.poll()) != null; taken++) {
      finish(answered);
    }
  }

  /** Gives up on the operations that have been open for so long. */
  private void abandon(long age) {
    for (Call call : open.sentBefore(System.nanoTime() - age)) {
      if (call.abandon()) {
        finish(call);
      }
    }
    takeAnswered();
  }

  private void finish(Call call) {
    if (!open.remove(call)) {
      return;
    }
    // A driver that waits itself cannot be left, and an answer may come just before the next look.
    if (call.finished() - call.started() > timeoutNanos) {
      call.timeOut();
    }
    if (call.retries() < run.insertRetries() && hasError(call) && !abort.isSet()) {
      statistics.retry(call);
      Call again = call.again();
      open.add(again);
      again.start(binding, call.intended(), System.nanoTime(), whenDone);
      return;
    }
    source.finished(call.request(), call.statuses());
    if (window.isMeasured(call.firstStarted())) {
      statistics.record(call);
      lastFinished = call.finished();
    } else if (!window.hasBegun(call.firstStarted())) {
      statistics.warmup(call);
    }
  }

  private static boolean hasError(Call call) {
    for (Status status : call.statuses()) {
      if (Outcome.isError(status)) {
        return true;
      }
    }
    return false;
  }

  /** When the next operation is due, in {@link System#nanoTime}, if {@link #advance} has found that it is not yet. */
  long turn() {
    return turn;
  }

  /** Whether nothing more will be sent, and everything was answered or given up; set by {@link #advance}. */
  boolean hasEnded() {
    return hasEnded;
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
