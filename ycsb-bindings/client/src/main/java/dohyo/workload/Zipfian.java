package dohyo.workload;

import java.util.SplittableRandom;
import site.ycsb.generator.ZipfianGenerator;

/**
 * Draws numbers from 0 upwards; 0 is the most popular. The distribution is that of {@link ZipfianGenerator} (Gray et
 * al., "Quickly Generating Billion-Record Synthetic Databases", SIGMOD 1994). The range may grow at every draw.
 * ZipfianGenerator adds one term per number, which takes minutes for billions of numbers each time the range grows.
 * This class computes the sum in constant time. Each thread has its own instance.
 */
final class Zipfian {
  private static final double THETA = ZipfianGenerator.ZIPFIAN_CONSTANT;
  private static final double ALPHA = 1 / (1 - THETA);
  /** Sums of the first 0 to 1000 terms. The formula for larger ranges is accurate only above 1000 terms. */
  private static final double[] SUMS = new double[1001];
  private static final double OFFSET;

  static {
    for (int i = 1; i < SUMS.length; i++) {
      SUMS[i] = SUMS[i - 1] + Math.pow(i, -THETA);
    }
    OFFSET = SUMS[SUMS.length - 1] - antiderivative(SUMS.length - 1);
  }

  private final SplittableRandom random;
  private long count;
  private double zeta;
  private double eta;

  Zipfian(SplittableRandom random) {
    this.random = random;
  }

  /**
   * Returns the sum of 1 / i<sup>0.99</sup> for i from 1 to n. Above 1000 it uses the Euler–Maclaurin formula up to the
   * first derivative, with an error below 10<sup>-12</sup>.
   */
  static double zeta(long n) {
    return n < SUMS.length ? SUMS[(int) n] : OFFSET + antiderivative(n);
  }

  private static double antiderivative(double x) {
    double term = Math.pow(x, -THETA);
    return x * term / (1 - THETA) + term / 2 - THETA * term / x / 12;
  }

  /**
   * Draws a number from 0 to {@code n} - 1.
   *
   * @param n size of the range, at least 1
   */
  long next(long n) {
    if (n != count) {
      count = n;
      zeta = zeta(n);
      eta = (1 - Math.pow(2.0 / n, 1 - THETA)) / (1 - SUMS[2] / zeta);
    }
    double u = random.nextDouble();
    double scaled = u * zeta;
    if (scaled < 1) {
      return 0;
    }
    if (scaled < 1 + Math.pow(0.5, THETA)) {
      return 1;
    }
    return Math.min(n - 1, (long) (n * Math.pow(eta * u - eta + 1, ALPHA)));
  }
}
