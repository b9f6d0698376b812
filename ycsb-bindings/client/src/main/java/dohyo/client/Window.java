package dohyo.client;

/**
 * The measured window, in {@link System#nanoTime}. Operations that start in the window are measured, even if they end
 * after it, so that slow answers near the end are not lost.
 */
final class Window {
  private final long begin;
  private final long length;
  private volatile long measure;

  /**
   * Creates a window.
   *
   * @param begin   start of the warm-up, when the threads begin to send
   * @param measure start of the window, unless the warm-up ends earlier
   * @param length  length of the window in nanoseconds, {@link Long#MAX_VALUE} if only the number of operations limits
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

  /** Returns the length in nanoseconds, {@link Long#MAX_VALUE} if only the number of operations limits the run. */
  long length() {
    return length;
  }

  long measure() {
    return measure;
  }

  /**
   * Moves the start of the window.
   *
   * @return false if that time has passed, so that operations may have been counted from the wrong start
   */
  boolean measureFrom(long time) {
    measure = time;
    return System.nanoTime() - time < 0;
  }

  boolean isOver(long now) {
    return length != Long.MAX_VALUE && now - measure >= length;
  }

  /** Returns the given time, or the end of the window if that is earlier. */
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
