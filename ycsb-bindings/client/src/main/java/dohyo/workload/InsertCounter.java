package dohyo.workload;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Counts new records and tracks up to which count all inserts have finished. YCSB's AcknowledgedCounterGenerator does
 * the same, but fails if 2^20 later inserts finish before an earlier one. This class does not fail, but needs one bit
 * of memory for each of these inserts.
 */
final class InsertCounter {
  private static final int PAGE_BITS = 1 << 16;

  private final AtomicLong next;
  private final ReentrantLock advancing = new ReentrantLock();
  // The insert after {@code last} is unfinished, and {@code first} is its page. Both fields change only under the lock.
  private volatile long last;
  private volatile Page first;
  // Latest page. Most inserts finish on it, so {@code completed} starts its search here instead of at the first page.
  private volatile Page recent;

  /** Finished inserts of a range of counts, and a link to the page of the next range. */
  private static final class Page {
    final long begin;
    final AtomicLongArray over = new AtomicLongArray(PAGE_BITS / Long.SIZE);
    final AtomicReference<Page> next = new AtomicReference<>();

    Page(long begin) {
      this.begin = begin;
    }

    Page following() {
      Page page = next.get();
      if (page == null) {
        next.compareAndSet(null, new Page(begin + PAGE_BITS));
        page = next.get();
      }
      return page;
    }

    boolean holds(long count) {
      return count - begin < PAGE_BITS;
    }

    void set(long count) {
      int bit = (int) (count - begin);
      over.getAndAccumulate(bit / Long.SIZE, 1L << bit, (word, added) -> word | added);
    }

    boolean isSet(long count) {
      int bit = (int) (count - begin);
      return (over.get(bit / Long.SIZE) & 1L << bit) != 0;
    }
  }

  InsertCounter(long begin) {
    next = new AtomicLong(begin);
    first = new Page(begin);
    recent = first;
    last = begin - 1;
  }

  /** Returns the count of a new record. The caller must pass it to {@link #completed} later. */
  long next() {
    return next.getAndIncrement();
  }

  /** Returns the highest count up to which all inserts have finished. */
  long last() {
    return last;
  }

  /** Marks an insert as finished. Must be called once per count. */
  void completed(long count) {
    Page page = recent;
    if (count < page.begin) {
      page = first;
    }
    while (!page.holds(count)) {
      page = page.following();
    }
    if (page.begin > recent.begin) {
      recent = page;
    }
    page.set(count);
    // One thread advances the counter for all. A thread that does not get the lock leaves this to the thread that holds
    // the lock, or to the next call.
    if (advancing.tryLock()) {
      try {
        advance();
      } finally {
        advancing.unlock();
      }
    }
  }

  private void advance() {
    Page page = first;
    long count = last + 1;
    while (true) {
      if (!page.holds(count)) {
        page = page.following();
      }
      if (!page.isSet(count)) {
        break;
      }
      count++;
    }
    first = page;
    last = count - 1;
  }
}
