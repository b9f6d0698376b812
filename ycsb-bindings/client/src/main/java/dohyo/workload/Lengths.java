package dohyo.workload;

import java.util.SplittableRandom;

/**
 * Draws integers from a range. All are equally likely, except with {@code zipfian}, where smaller ones are more likely.
 * Only one thread may use an instance.
 */
final class Lengths {
  private final SplittableRandom random;
  private final long min;
  private final long count;
  private final Zipfian zipfian;

  Lengths(SplittableRandom random, long min, long max, boolean zipfian) {
    this.random = random;
    this.min = min;
    this.count = max - min + 1;
    this.zipfian = zipfian ? new Zipfian(random) : null;
  }

  int next() {
    return (int) (min + (zipfian != null ? zipfian.next(count) : random.nextLong(count)));
  }
}
