package dohyo.workload;

import dohyo.binding.SettingException;
import dohyo.binding.Settings;
import java.util.SplittableRandom;
import java.util.concurrent.ThreadLocalRandom;

/**
 * The source of all randomness of a workload ({@code seed}): the same seed, client, thread and phase draw the same
 * operations, records and values. Without the property the seed itself is drawn, and can be given later to repeat the
 * run.
 */
final class Seed {
  /** The largest whole number that every reader of JSON keeps exact. */
  private static final long LARGEST = (1L << 53) - 1;

  private final long seed;
  private final long client;
  private final boolean transactions;

  /**
   * Reads {@code seed}, {@code clientnumber} and {@code dotransactions}.
   *
   * @throws SettingException if the seed is out of range, or given together with a property whose draws cannot be
   * repeated
   */
  Seed(Settings settings) {
    seed = settings.whole("seed", ThreadLocalRandom.current().nextLong(LARGEST), 0, LARGEST);
    client = settings.whole("clientnumber", 0, 0, Integer.MAX_VALUE);
    transactions = settings.flag("dotransactions", true);
    if (settings.has("seed") && settings.text("fieldlengthdistribution", "").equals("histogram")) {
      throw new SettingException("seed=" + seed + ": fieldlengthdistribution=histogram draws its lengths without a"
          + " seed; leave seed out, or take another distribution");
    }
  }

  long value() {
    return seed;
  }

  /** The numbers of one thread, from 0. The load has others than a run, so that no update writes what is there. */
  SplittableRandom of(int thread) {
    return new SplittableRandom(mixed(mixed(mixed(seed + (transactions ? 1L << 53 : 0)) + client) + thread));
  }

  // Seeds next to each other would give overlapping sequences; the first number of one is mixed well.
  private static long mixed(long number) {
    return new SplittableRandom(number).nextLong();
  }
}
