package dohyo.workload;

import dohyo.binding.SettingException;

/**
 * Implements {@code requestdistribution=ranges}: a thread repeatedly requests the records of its own range, in order.
 * Each thread has its own instance.
 */
final class RangeWalk {
  private final RecordLayout layout;
  private final long first;
  private final long end;
  private long next;

  /**
   * Creates the walk of one thread through its range, which {@link Division} determines.
   *
   * @param thread  number of the thread, from 0
   * @param threads number of threads
   * @throws SettingException if the thread's range is empty
   */
  RangeWalk(RecordLayout layout, Division division, int thread, int threads) {
    this.layout = layout;
    first = division.edge(thread, threads);
    end = division.edge(thread + 1, threads);
    next = first;
    if (first == end) {
      throw new SettingException("requestdistribution=ranges: no record for thread " + thread + " of " + threads
          + "; raise recordcount");
    }
  }

  /** Returns how many times {@link #next} must be called to return each record of the range once. */
  long calls(int most) {
    long calls = 0;
    for (long from = first; from < end;) {
      long until = Math.min(end, layout.endOf(layout.tableOf(from)));
      calls += (until - from + most - 1) / most;
      from = until;
    }
    return calls;
  }

  /** Returns the next records of the range, at most {@code most}, all in one table. */
  long[] next(int most) {
    long[] keynums = new long[layout.neighbours(next, end, most)];
    for (int i = 0; i < keynums.length; i++) {
      keynums[i] = next++;
    }
    if (next == end) {
      next = first;
    }
    return keynums;
  }
}
