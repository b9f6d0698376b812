package dohyo.client;

import dohyo.binding.Binding;
import dohyo.binding.Outcome;
import dohyo.workload.Request;
import dohyo.workload.RequestSource;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import site.ycsb.Status;

/**
 * One logical client. It takes requests from its source, sends them when they are due, keeps up to {@code inflight}
 * requests in flight, and records each answer. {@link OwnThread} or {@link DriverThreads} call {@link #advance}, on one
 * thread at a time.
 */
final class Worker {
  /** Result of {@link #advance} if there is nothing to do before the next answer. */
  static final long ANSWER = Long.MAX_VALUE;
  /** Time between two checks for operations that have timed out, in nanoseconds. */
  static final long TIMEOUT_CHECK_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

  /** Maximum number of operations or answers to process at once, because other workers wait for the thread. */
  private static final int MAX_AT_ONCE = 64;

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
  private long nextDue;
  private long nextTimeoutCheck = now;
  private long measured;
  private long missed;
  private boolean hasSent;
  private boolean isLate;
  private long firstDue;
  private long skew;
  private long firstMeasured;
  private long lastFinished;
  private boolean reachedEnd;

  Worker(Run run, int number, Binding binding, RequestSource source, Window window, Pacer pacer,
      ThreadStatistics statistics, Abort abort, Completions completions) {
    this.run = run;
    this.binding = binding;
    this.window = window;
    this.statistics = statistics;
    this.abort = abort;
    this.completions = completions;
    this.whenDone = completions::add;
    this.source = source;
    this.pacer = pacer;
    // The source of a load ends by itself, because its limit is a number of records.
    this.quota = run.load() || run.operations() == 0 ? Long.MAX_VALUE
        : run.workload().operations(number, run.threads());
    this.open = new InFlight(run.inflight());
    this.timeoutNanos = TimeUnit.MILLISECONDS.toNanos(run.timeoutMillis());
  }

  /**
   * Takes answers and sends due operations. It sends until the window is over, the quota is reached or the run is
   * aborted. Then it waits for open operations. After the last one, {@link #hasEnded} returns true.
   *
   * @return nanoseconds after which to call again; {@link #ANSWER} if only an answer requires another call. Call
   *         earlier if an answer arrives, {@link #untilTimeout} has passed, the run is aborted or the window is moved
   */
  long advance() {
    long wait = 0;
    now = System.nanoTime();
    for (int sent = 0; wait == 0 && !hasEnded && sent < MAX_AT_ONCE; sent++) {
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
   * Prepares the next operation. Sends it if it is due and fewer than {@code inflight} operations are open.
   *
   * @return see {@link #advance}
   */
  private long sendNext() {
    // Do not prepare an operation that is due after the window. A slightly outdated time is good enough for this check.
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
    // Compute the due time again, because the window may have begun or been moved.
    nextDue = window.earlier(due());
    if (now - nextDue < 0) {
      return nextDue - now;
    }
    if (window.isOver(now)) {
      reachedEnd = true;
      // Insert a new record in any case: its key number is assigned, and would be missing in all later runs.
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
   * Returns when the next operation is due. Due times restart with the measured window, so that the backlog of a cold
   * server is not measured.
   */
  private long due() {
    if (!pacer.hasTarget()) {
      return window.begin();
    }
    long measure = window.measure();
    if (pacer.begin() != measure && (window.hasBegun(now) || pacer.due() - measure >= 0)) {
      // The client is late if not even the first operation of the warm-up was sent in time.
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
    // After the quota nothing is due. A load without a time limit ends with its records, so it misses nothing.
    long most = run.load() && window.length() == Long.MAX_VALUE ? 0 : quota - measured;
    long count = 0;
    for (long due = due(); count < most && due - until < 0; due = pacer.due()) {
      pacer.pass();
      count++;
    }
    return count;
  }

  /** Abandons operations that have been open for longer than the timeout. Checks only every TIMEOUT_CHECK_NANOS. */
  private void expire() {
    if (now - nextTimeoutCheck >= 0) {
      nextTimeoutCheck = now + TIMEOUT_CHECK_NANOS;
      abandon(timeoutNanos);
    }
  }

  /** Returns the nanoseconds until {@link #advance} can find an operation that has timed out. */
  long untilTimeout() {
    long time = System.nanoTime();
    long left = open.isEmpty() ? ANSWER : timeoutNanos - (time - open.oldest());
    return Math.max(left, nextTimeoutCheck - time);
  }

  private void takeAnswered() {
    Call answered;
    for (int taken = 0; taken < MAX_AT_ONCE && (answered = completions.poll()) != null; taken++) {
      finish(answered);
    }
  }

  /** Abandons the operations that have been open for at least that many nanoseconds. */
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
    // Check the duration: a blocking driver cannot be interrupted, and a late answer may arrive before expire() runs.
    if (call.finished() - call.started() > timeoutNanos) {
      call.timeOut();
    }
    if (call.retries() < run.insertRetries() && hasError(call) && !abort.isSet()) {
      statistics.retry(call);
      Call again = call.retry();
      open.add(again);
      again.start(binding, call.intended(), System.nanoTime(), whenDone);
      return;
    }
    source.finished(call.request(), call.written());
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

  /**
   * Returns when the next operation is due, in {@link System#nanoTime}. Valid if {@link #advance} returned a time to
   * wait.
   */
  long nextDue() {
    return nextDue;
  }

  /** Returns whether all requests were sent and then answered or abandoned. */
  boolean hasEnded() {
    return hasEnded;
  }

  /** Returns whether the client stopped because the window was over, not because it had no more requests. */
  boolean reachedEnd() {
    return reachedEnd;
  }

  boolean hasSent() {
    return hasSent;
  }

  /** Returns the delay of the first operation, in nanoseconds. */
  long skew() {
    return skew;
  }

  /** Returns how many operations were due in the measured window but not sent in it. */
  long missed() {
    return missed;
  }

  /** Returns when the first measured operation was sent, in {@link System#nanoTime}; 0 if there was none. */
  long firstMeasured() {
    return firstMeasured;
  }

  /** Returns when the last measured operation was answered or abandoned, in {@link System#nanoTime}; 0 if none was. */
  long lastFinished() {
    return lastFinished;
  }
}
