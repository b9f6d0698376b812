package dohyo.workload;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Counts new records, and knows up to which count all inserts have finished. YCSB's AcknowledgedCounterGenerator does
 * the same, but fails as soon as one insert takes longer than 2^20 later ones; this one takes a bit of memory for each
 * of them.
 */
final class InsertCounter {
  private static final int PAGE_BITS = 1 << 16;

  private final AtomicLong next;
  private final ReentrantLock advancing = new ReentrantLock();
  // The first insert that is not over comes after the last one, and is in the first page; changed only under the lock.
  private volatile long last;
  private volatile Page first;
  // Where most are found without walking.
  private volatile Page recent;

  /** Which inserts of a range are over, and the page of the next range, once there is one. */
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

  /** The count of a new record; {@link #completed} must follow. */
  long next() {
    return next.getAndIncrement();
  }

  /** The last count up to which all inserts are over. */
  long last() {
    return last;
  }

  /** To be called once for each count. */
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
    // Whoever holds the lock, or comes next, does it for all.
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
