package dohyo.client;

import java.util.ArrayList;
import java.util.List;

/**
 * Schedule of one thread's operations. With a target rate, slow answers do not delay later due times. The latency since
 * the due time is therefore what users of an open system experience (the "intended" latency of YCSB and wrk2).
 *
 * <p>By default, due times are evenly spaced. The schedules of all threads of all clients are shifted relative to each
 * other, so that together they send at an even rate. With {@code arrival=poisson} the due times are random {@link
 * Arrivals}.
 */
final class Pacer {
  private final double nanosBetween;
  private final double offset;
  private Arrivals.Turns turns;
  private Arrivals.Turns measured;
  private long begin;
  private long passed;

  /**
   * Creates the pacer of one thread.
   *
   * @param target  operations per second over all threads of this client, 0 for no limit
   * @param threads number of threads
   * @param shift   offset of the schedule, as a share of the time between two operations of the thread
   * @param begin   time of the first operation of a schedule without offset, in {@link System#nanoTime}
   */
  Pacer(double target, int threads, double shift, long begin) {
    nanosBetween = target > 0 ? threads * 1e9 / target : 0;
    offset = nanosBetween * shift;
    this.begin = begin;
  }

  /** Creates the pacers of all threads of this client. */
  static List<Pacer> of(Run run, Window window) {
    List<Pacer> pacers = new ArrayList<>();
    for (int thread = 0; thread < run.threads(); thread++) {
      pacers.add(new Pacer(run.target(), run.threads(), run.workload().shift(thread, run.threads()), window.begin()));
    }
    if (run.poisson()) {
      List<Arrivals.Turns> endless = Arrivals.endless(run.workload().arrivals(), run.target(), run.threads());
      boolean isTimed = window.length() < Long.MAX_VALUE;
      long length = isTimed ? window.length() : (long) (run.operations() * 1e9 / run.target());
      long count = isTimed ? pacers.stream().mapToLong(pacer -> pacer.dueWithin(length)).sum() : run.operations();
      List<Arrivals.Turns> measured = Arrivals.within(run.workload().arrivals(), count, length, run.threads());
      for (int thread = 0; thread < run.threads(); thread++) {
        pacers.get(thread).turns = endless.get(thread);
        pacers.get(thread).measured = measured.get(thread);
      }
    }
    if (window.begin() == window.measure()) {
      pacers.forEach(pacer -> pacer.begin(window.measure()));
    }
    return pacers;
  }

  /** Returns the number of operations of the evenly spaced schedule that are due within that many nanoseconds. */
  private long dueWithin(long length) {
    return Math.max(0, (long) Math.ceil((length - offset) / nanosBetween));
  }

  /**
   * Restarts the schedule at the start of the measured window. Drops operations that were due earlier but not sent.
   */
  void begin(long time) {
    begin = time;
    passed = 0;
    turns = measured;
  }

  /** Returns the start of the schedule, in {@link System#nanoTime}. */
  long begin() {
    return begin;
  }

  boolean hasTarget() {
    return nanosBetween > 0;
  }

  /** Returns when the next operation is due, in {@link System#nanoTime}. Requires a target rate. */
  long due() {
    return begin + (turns == null ? (long) (offset + passed * nanosBetween) : turns.time());
  }

  /** Advances to the following operation. */
  void pass() {
    passed++;
    if (turns != null) {
      turns.pass();
    }
  }
}
