package dohyo.workload;

/**
 * Decides which records this client owns with {@code verify=acknowledged}. No other client writes these records. A
 * client with a contiguous range or its own tables owns their loaded records. Otherwise, it owns every {@code
 * clients}-th loaded record. New records belong to the client that inserts them in this run.
 */
final class Ownership {
  /** Index of a record that another client writes. */
  static final long NOT_OWN = -1;
  /** Index of a record that this client inserted in an earlier run. Only that run's ledger tracked the record. */
  static final long OF_EARLIER_RUN = -2;

  private final Division division;
  private final long loadedEnd;
  private final long recordCount;
  private final long first;
  private final long step;
  private final long count;
  private final long insertedBefore;

  Ownership(Division division, RecordLayout layout, boolean contiguous, long insertedBefore) {
    this.division = division;
    this.insertedBefore = insertedBefore;
    recordCount = layout.recordCount();
    loadedEnd = division.first() + division.count();
    step = contiguous ? 1 : division.clients();
    first = contiguous ? division.edge(0, 1) : division.first() + division.number();
    long end = contiguous ? division.edge(1, 1) : loadedEnd;
    count = Math.max(0, (end - first + step - 1) / step);
  }

  /** Returns the number of loaded records that this client owns. */
  long loaded() {
    return count;
  }

  /**
   * Returns the index of a record among the owned ones: first the loaded records, then the inserts of this run. For
   * other records, it returns {@link #NOT_OWN} or {@link #OF_EARLIER_RUN}.
   */
  long index(long keynum) {
    if (keynum < recordCount) {
      long offset = keynum - first;
      return offset < 0 || offset % step != 0 || offset / step >= count ? NOT_OWN : offset / step;
    }
    long inserted = division.inserted(keynum);
    return inserted < 0 ? NOT_OWN : inserted < insertedBefore ? OF_EARLIER_RUN : count + inserted - insertedBefore;
  }

  /** Returns the key number of an owned record. */
  long keynum(long index) {
    return index < count ? first + index * step : division.keynum(insertedBefore + index - count);
  }

  /** Returns the index of the owned loaded record that is nearest to a loaded record. */
  long nearest(long keynum) {
    return Math.max(0, Math.min(count - 1, (keynum - first) / step));
  }
}
