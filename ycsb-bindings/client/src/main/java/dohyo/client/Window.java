package dohyo.client;

/**
 * The measured window in {@link System#nanoTime}: operations that start in it are measured, and none that
 * starts after it. An operation that was started in the window is measured to its end, however long that takes, so slow
 * answers near the end are not lost.
 */
final class Window {
  private final long begin;
  private final long length;
  private volatile long measure;

  /**
   * Makes a window.
   *
   * @param begin   when the threads begin to send, which is the start of the warm-up
   * @param measure when measuring begins, unless the warm-up ends earlier
   * @param length  how long it lasts, in nanoseconds; {@link Long#MAX_VALUE} where only the count of operations bounds
   *                the run
   */
  Window(long begin, long measure, long length) {
    this.begin = begin;
    this.measure = measure;
    this.length = length;
  }

  long begin() {
    return begin;
  }

  /** {@link Long#MAX_VALUE} where only the count of operations bounds the run. */
  long length() {
    return length;
  }

  long measure() {
    return measure;
  }

  /**
   * Lets measuring begin at another time.
   *
   * @return false if that time has passed already, so that operations may have counted by either
   */
  boolean measureFrom(long time) {
    measure = time;
    return System.nanoTime() - time < 0;
  }

  boolean isOver(long now) {
    return length != Long.MAX_VALUE && now - measure >= length;
  }

  /** That time, or the end where it comes first. */
  long earlier(long time) {
    return isOver(time) ? measure + length : time;
  }

  boolean hasBegun(long now) {
    return now - measure >= 0;
  }

  boolean isMeasured(long started) {
    return hasBegun(started) && !isOver(started);
  }
}
