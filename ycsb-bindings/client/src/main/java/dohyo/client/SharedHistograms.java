package dohyo.client;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.HdrHistogram.Histogram;

/**
 * Histograms that several threads share, one per {@link Series}, in nanoseconds. A histogram takes up to 220 kB. Each
 * thread therefore records into a small {@link Buffer}, which is flushed when it is full and when the histograms are
 * read. The hot path has no lock, and each counter has only one writer.
 */
final class SharedHistograms {
  /** Significant digits: values are accurate to within 0.1 %, as in stock YCSB. */
  static final int DIGITS = 3;
  static final int NANOS_PER_MICRO = 1000;

  /**
   * Maximum number of instances. Further threads share an instance, and hold its lock for some µs per full buffer.
   */
  private static final int MAX_COUNT = 16;

  private final List<Buffer> buffers = new ArrayList<>();
  private Histogram[] active = new Histogram[Series.COUNT];
  private Histogram[] spare = new Histogram[Series.COUNT];

  /** Creates an instance for each thread, up to MAX_COUNT. Further threads share them in turn. */
  static List<SharedHistograms> forThreads(int threads) {
    List<SharedHistograms> all = new ArrayList<>();
    while (all.size() < Math.min(threads, MAX_COUNT)) {
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

  /** Creates the buffer of another thread. Must be called before any thread records. */
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
      active[index].recordValue(entry & Buffer.MAX_VALUE);
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
   * Adds to each series its latencies since the last call. A series without any latency stays {@code null}. Only one
   * thread may call this method.
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

  /** Latest latencies of one thread. Only that thread writes. Readers hold the lock of the shared histograms. */
  static final class Buffer {
    private static final int SIZE = 512;
    private static final int SERIES_SHIFT = 57;
    /** Maximum latency in nanoseconds, more than four years. The other bits contain the number of the series. */
    private static final long MAX_VALUE = (1L << SERIES_SHIFT) - 1;

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
      entries[(int) at & SIZE - 1] = (long) series << SERIES_SHIFT | Math.min(Math.max(0, nanos), MAX_VALUE);
      written.setRelease(at + 1);
    }
  }
}
