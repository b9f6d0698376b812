package dohyo.client;

/**
 * Tells a thread when its next operation is due. With a target rate the due times are a fixed grid, which does not
 * wait for slow answers: the latency from the due time is the one that a user of an open system would see (the
 * "intended" latency of YCSB and wrk2). The grids of the threads of all clients are shifted against each other, so that
 * together they send at an even rate.
 */
final class Pacer {
  private final double nanosBetween;
  private final double offset;
  private long begin;
  private long passed;

  /**
   * Makes the pacer of one thread.
   *
   * @param target  operations per second over all threads of this client, 0 for as fast as possible
   * @param threads how many there are
   * @param shift   how far the grid is shifted, as a share of the time between two operations of the thread
   * @param begin   time of the first operation of a grid that is not shifted, in {@link System#nanoTime}
   */
  Pacer(double target, int threads, double shift, long begin) {
    nanosBetween = target > 0 ? threads * 1e9 / target : 0;
    offset = nanosBetween * shift;
    this.begin = begin;
  }

  /** Begins the grid anew; what was due before and is not sent yet is dropped. */
  void begin(long time) {
    begin = time;
    passed = 0;
  }

  /** When the grid begins, in {@link System#nanoTime}. */
  long begin() {
    return begin;
  }

  boolean hasTarget() {
    return nanosBetween > 0;
  }

  /** When the next operation is due, in {@link System#nanoTime}; only with a target. */
  long due() {
    return begin + (long) (offset + passed * nanosBetween);
  }

  /** Goes on to the one after that. */
  void pass() {
    passed++;
  }
}
