package dohyo.client;

/**
 * The measured window in {@link System#nanoTime}: operations that start in it are measured, and nothing starts after
 * it. An operation that was started in the window is measured to its end, however long that takes, so slow answers
 * near the end are not lost.
 *
 * @param begin   when the threads begin to send, which is the start of the warm-up
 * @param measure when measuring begins
 * @param end     when it ends; {@link Long#MAX_VALUE} where only the count of operations bounds the run
 */
record Window(long begin, long measure, long end) {
  boolean isOver(long now) {
    return end != Long.MAX_VALUE && now - end >= 0;
  }

  /** That time, or the end where it comes first. */
  long earlier(long time) {
    return isOver(time) ? end : time;
  }

  boolean isMeasured(long started) {
    return started - measure >= 0;
  }
}
