package dohyo.client;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Times at which the operations of a client are due with {@code arrival=poisson}, in nanoseconds after a start. The
 * times are drawn once for all threads of the client. The threads take them in turn, so that a slow answer delays as
 * few operations as possible.
 *
 * <p>Without an end, the gaps are exponential. With an end, there are as many arrivals as with {@code
 * arrival=uniform}, so that the rate is exact even in a short time. Given their number, the arrivals of a Poisson
 * process are independent and uniformly distributed (Ross: Stochastic Processes, 2nd ed. (1996), theorem 2.3.1). They
 * are drawn in order (Bentley, Saxe: Generating sorted lists of random numbers, ACM Trans. Math. Softw. 6 (1980)). The
 * arrivals of several clients together form one process with the sum of their counts.
 */
final class Arrivals {
  private final SplittableRandom random;
  private final double nanosBetween;
  private final long end;
  private long left;
  private double time;

  /** Consecutive arrivals, linked to the next chunk. A chunk becomes garbage when every thread has passed it. */
  final class Chunk {
    private static final int SIZE = 1024;
    private final long[] times = new long[SIZE];
    private Chunk next;

    private Chunk() {
      for (int i = 0; i < SIZE; i++) {
        times[i] = draw();
      }
    }

    private Chunk next() {
      synchronized (Arrivals.this) {
        if (next == null) {
          next = new Chunk();
        }
        return next;
      }
    }
  }

  /** Arrivals of one thread, which are every {@code threads}-th arrival of the client. */
  static final class Turns {
    private final int threads;
    private Chunk chunk;
    private int at;

    private Turns(Chunk first, int thread, int threads) {
      this.threads = threads;
      chunk = first;
      at = thread;
      hop();
    }

    long time() {
      return chunk.times[at];
    }

    void pass() {
      at += threads;
      hop();
    }

    private void hop() {
      while (at >= Chunk.SIZE) {
        at -= Chunk.SIZE;
        chunk = chunk.next();
      }
    }
  }

  private Arrivals(SplittableRandom random, double nanosBetween, long count, long end) {
    this.random = random;
    this.nanosBetween = nanosBetween;
    this.left = count;
    this.end = end;
  }

  /**
   * Creates arrivals without an end.
   *
   * @param target  operations per second over all threads
   * @param threads number of threads
   */
  static List<Turns> endless(SplittableRandom random, double target, int threads) {
    return new Arrivals(random, 1e9 / target, Long.MAX_VALUE, Long.MAX_VALUE).divided(threads);
  }

  /**
   * Creates a fixed number of arrivals within a period. Further arrivals are due at its end.
   *
   * @param count   number of arrivals
   * @param end     length of the period in nanoseconds
   * @param threads number of threads
   */
  static List<Turns> within(SplittableRandom random, long count, long end, int threads) {
    return new Arrivals(random, 0, count, end).divided(threads);
  }

  private List<Turns> divided(int threads) {
    Chunk first = new Chunk();
    List<Turns> turns = new ArrayList<>();
    for (int thread = 0; thread < threads; thread++) {
      turns.add(new Turns(first, thread, threads));
    }
    return turns;
  }

  private long draw() {
    if (left == 0) {
      return end;
    }
    double gap = -Math.log(1 - random.nextDouble());
    if (end == Long.MAX_VALUE) {
      time += gap * nanosBetween;
      return (long) time;
    }
    // The next arrival is the minimum of the remaining uniform times: 1 - u^(1 / left) of the remaining time.
    time += (end - time) * -Math.expm1(-gap / left);
    left--;
    return Math.min((long) time, end - 1);
  }
}
