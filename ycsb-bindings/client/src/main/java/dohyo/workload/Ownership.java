package dohyo.workload;

/**
 * Which records this client alone writes, with {@code verify=acknowledged}. Of the loaded ones every
 * {@code clients}-th, or one contiguous range where each client works on a range or on tables of its own; of the later
 * ones those that it inserts in this run.
 */
final class Ownership {
  /** Another client writes the record. */
  static final long NOT_OWN = -1;
  /** This client has inserted it in an earlier run, which has accounted for it. */
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

  /** How many of the loaded records are own. */
  long loaded() {
    return count;
  }

  /** Its number among the own records: the loaded ones from 0, then this run's inserts; else one of the above. */
  long index(long keynum) {
    if (keynum < recordCount) {
      long offset = keynum - first;
      return offset < 0 || offset % step != 0 || offset / step >= count ? NOT_OWN : offset / step;
    }
    long inserted = division.inserted(keynum);
    return inserted < 0 ? NOT_OWN : inserted < insertedBefore ? OF_EARLIER_RUN : count + inserted - insertedBefore;
  }

  /** The record with that number among the own ones. */
  long keynum(long index) {
    return index < count ? first + index * step : division.keynum(recordCount + insertedBefore + index - count);
  }

  /** The own loaded record that is nearest to another loaded one. */
  long nearest(long keynum) {
    return Math.max(0, Math.min(count - 1, (keynum - first) / step));
  }
}
