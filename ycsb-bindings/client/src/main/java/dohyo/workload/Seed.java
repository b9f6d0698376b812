package dohyo.workload;

import dohyo.binding.SettingException;
import dohyo.binding.Settings;
import java.util.SplittableRandom;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Derives all random numbers of a workload from one seed ({@code seed}). With the same seed, client, thread and phase,
 * the operations and records are the same. Values also depend on the number of the run in its trial (see {@link
 * RecordMaker}). Without the property, the seed is random. The results contain the seed, so that the run can be
 * repeated.
 */
final class Seed {
  /** Largest integer that every JSON reader reads exactly. */
  private static final long LARGEST = (1L << 53) - 1;

  private final long seed;
  private final long client;
  private final boolean transactions;

  /**
   * Reads {@code seed}, {@code clientnumber} and {@code dotransactions}.
   *
   * @throws SettingException if the seed is out of range, or set together with a property that ignores the seed
   */
  Seed(Settings settings) {
    seed = settings.whole("seed", ThreadLocalRandom.current().nextLong(LARGEST), 0, LARGEST);
    client = settings.whole("clientnumber", 0, 0, Integer.MAX_VALUE);
    transactions = settings.flag("dotransactions", true);
    if (settings.has("seed") && settings.text("fieldlengthdistribution", "").equals("histogram")) {
      throw new SettingException("seed=" + seed + ": fieldlengthdistribution=histogram ignores it;"
          + " remove it, or set another one");
    }
  }

  long value() {
    return seed;
  }

  /**
   * Returns the random numbers of a thread. They differ between the load and the run, so that an update does not write
   * the value that the record already has.
   */
  SplittableRandom of(int thread) {
    return new SplittableRandom(mixed(mixed(mixed(seed + (transactions ? 1L << 53 : 0)) + client) + thread));
  }

  // Adjacent seeds would lead to overlapping sequences. Each seed is therefore replaced by the first number of its
  // sequence, which is well mixed.
  private static long mixed(long number) {
    return new SplittableRandom(number).nextLong();
  }
}
