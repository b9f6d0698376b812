package dohyo.workload;

import dohyo.binding.SettingException;

/** {@code requestdistribution=ranges}: a thread walks through its own part of the records, in order, over and over. */
final class RangeWalk {
  private final RecordLayout layout;
  private final long first;
  private final long end;
  private long next;

  /**
   * Makes the walk of one thread, through the range that {@link Division} gives it.
   *
   * @param thread  number of the thread, from 0
   * @param threads how many there are
   * @throws SettingException if there are too few records for all threads
   */
  RangeWalk(RecordLayout layout, Division division, int thread, int threads) {
    this.layout = layout;
    first = division.edge(thread, threads);
    end = division.edge(thread + 1, threads);
    next = first;
    if (first == end) {
      throw new SettingException("requestdistribution=ranges: thread " + thread + " of " + threads + " has no record of"
          + " its own; set recordcount to at least the threads of all clients, or threadcount lower");
    }
  }

  /** The next neighbours within one table: {@code most} of them, or as many as are left there of the range. */
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
