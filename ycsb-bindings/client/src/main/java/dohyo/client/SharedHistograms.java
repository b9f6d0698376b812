package dohyo.client;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.HdrHistogram.Histogram;

/**
 * Histograms that several threads share, one for each {@link Series}, in nanoseconds. A histogram takes up to 220 kB,
 * so a thread has none of its own but a small {@link Buffer}, which is emptied into them when it is full and when
 * somebody looks: on the hot path there is no lock and no counter that two threads write.
 */
final class SharedHistograms {
  /** Significant digits: values are exact to 0.1 %, as in stock YCSB. */
  static final int DIGITS = 3;
  static final int NANOS_PER_MICRO = 1000;

  /** With more threads some share one. It is locked for some microseconds per full buffer. */
  private static final int MOST = 16;

  private final List<Buffer> buffers = new ArrayList<>();
  private Histogram[] active = new Histogram[Series.COUNT];
  private Histogram[] spare = new Histogram[Series.COUNT];

  /** One for each thread, up to a number whose memory is small; thread i is to take the i-th, round and round. */
  static List<SharedHistograms> forThreads(int threads) {
    List<SharedHistograms> all = new ArrayList<>();
    while (all.size() < Math.min(threads, MOST)) {
      all.add(new SharedHistograms());
    }
    return all;
  }

  static Histogram histogram() {
    return new Histogram(DIGITS);
  }

  /** Adds the second histogram to the first, which may be {@code null}. */
  static Histogram added(Histogram to, Histogram more) {
    Histogram sum = to == null ? histogram() : to;
    sum.add(more);
    return sum;
  }

  /** Makes the buffer of one more thread; before any of them records. */
  Buffer buffer() {
    Buffer buffer = new Buffer(this);
    buffers.add(buffer);
    return buffer;
  }

  private synchronized void empty(Buffer buffer) {
    long until = buffer.written.getAcquire();
    long next = buffer.taken;
    while (next < until) {
      long entry = buffer.entries[(int) next++ & Buffer.SIZE - 1];
      int index = (int) (entry >>> Buffer.SERIES_SHIFT);
      if (active[index] == null) {
        active[index] = histogram();
      }
      active[index].recordValue(entry & Buffer.LONGEST);
    }
    buffer.taken = next;
  }

  private synchronized void swap() {
    buffers.forEach(this::empty);
    Histogram[] recorded = active;
    active = spare;
    spare = recorded;
  }

  /**
   * Adds to each series what was recorded in it since the last call; where nothing ever was, it stays {@code null}.
   * Only one thread may call.
   */
  void takeInto(Histogram[] series) {
    swap();
    for (int index = 0; index < spare.length; index++) {
      if (spare[index] != null) {
        series[index] = added(series[index], spare[index]);
        spare[index].reset();
      }
    }
  }

  /** The latest latencies of one thread: the only one that writes, and whoever holds the lock takes out. */
  static final class Buffer {
    private static final int SIZE = 512;
    private static final int SERIES_SHIFT = 57;
    /** What does not fit beside the number of the series: four years. */
    private static final long LONGEST = (1L << SERIES_SHIFT) - 1;

    private final SharedHistograms shared;
    private final long[] entries = new long[SIZE];
    private final AtomicLong written = new AtomicLong();
    private volatile long taken;

    private Buffer(SharedHistograms shared) {
      this.shared = shared;
    }

    void record(int series, long nanos) {
      long at = written.getPlain();
      if (at - taken == SIZE) {
        shared.empty(this);
      }
      entries[(int) at & SIZE - 1] = (long) series << SERIES_SHIFT | Math.min(Math.max(0, nanos), LONGEST);
      written.setRelease(at + 1);
    }
  }
}
