package dohyo.client;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * When the operations of a client are due with {@code arrival=poisson}, in nanoseconds after a beginning: drawn once
 * for all of its threads, which take them in turns, so that one waits for its own answers as seldom as it can.
 *
 * <p>Without an end the gaps are exponential. With one there are as many arrivals as with {@code arrival=uniform}, and
 * the rate is the one that was asked for, however short the time is: given its count, a Poisson process has its
 * arrivals at independent, uniformly distributed times (Ross: Stochastic Processes, 2nd ed. (1996), theorem 2.3.1).
 * They are drawn in order (Bentley, Saxe: Generating sorted lists of random numbers, ACM Trans. Math. Softw. 6 (1980)).
 * Those of several clients, each of its own count, are together those of one process of all counts.
 */
final class Arrivals {
  private final SplittableRandom random;
  private final double nanosBetween;
  private final long end;
  private long left;
  private double time;

  /** Consecutive arrivals; those that every thread has passed are dropped. */
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

  /** The arrivals of one thread: every {@code threads}-th of all. */
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

  /** Without an end. */
  static List<Turns> endless(SplittableRandom random, double target, int threads) {
    return new Arrivals(random, 1e9 / target, Long.MAX_VALUE, Long.MAX_VALUE).divided(threads);
  }

  /** So many within a time in nanoseconds; what follows is due at its end. */
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
    // The first of so many independent times in what is left: one less the largest of their distances to the end.
    time += (end - time) * -Math.expm1(-gap / left);
    left--;
    return Math.min((long) time, end - 1);
  }
}
