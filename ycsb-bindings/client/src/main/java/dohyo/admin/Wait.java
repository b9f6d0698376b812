package dohyo.admin;

import dohyo.binding.Settings;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.Callable;

/**
 * Waits for servers. The argument {@code timeout} is the limit in seconds (default 1800) for all waits together, or in
 * {@link #untilQuietOrStalled} for the time without progress.
 */
public final class Wait {
  private static final long PAUSE_MILLIS = 200;
  /** Number of consecutive idle checks that end a wait. One is too few: a flush submits its compaction a bit later. */
  private static final int QUIET_CHECKS = 3;

  private final long start = System.nanoTime();
  private final Duration timeout;
  private final String variable;

  /**
   * Starts the clock.
   *
   * @param arguments the arguments of the verb
   * @param variable  variable that the user can raise to allow more time; messages name it
   */
  public Wait(Settings arguments, String variable) {
    timeout = Duration.ofSeconds(arguments.number("timeout", 1800, 1, Integer.MAX_VALUE));
    this.variable = variable;
  }

  public Duration timeout() {
    return timeout;
  }

  /** Returns the seconds since the start. */
  public long seconds() {
    return elapsed().toSeconds();
  }

  /**
   * Waits until several consecutive checks return an empty text.
   *
   * @param check returns a description of the work in progress; empty if there is none
   * @throws IOException if the work takes longer than the timeout
   */
  public void untilQuiet(Callable<String> check) throws Exception {
    for (int quiet = 0; quiet < QUIET_CHECKS;) {
      String busy = check.call();
      quiet = busy.isEmpty() ? quiet + 1 : 0;
      pause(busy);
    }
  }

  /**
   * Remaining work.
   *
   * @param left  number of remaining tasks
   * @param done  progress of the running tasks, in any unit
   * @param words description of the work for messages
   */
  public record Work(long left, long done, String words) {
  }

  /**
   * Waits like {@link #untilQuiet}, but without a limit as long as there is progress. Progress means a new minimum of
   * the remaining tasks, or a new maximum of the work done since that minimum. A task that repeatedly fails and
   * restarts makes no progress.
   *
   * @return description of the remaining work if the timeout passes without progress; empty if none remains
   */
  public String untilQuietOrStalled(Callable<Work> check) throws Exception {
    long fewest = Long.MAX_VALUE;
    long most = 0;
    long since = System.nanoTime();
    for (int quiet = 0; quiet < QUIET_CHECKS; Thread.sleep(PAUSE_MILLIS)) {
      Work work = check.call();
      quiet = work.left() == 0 ? quiet + 1 : 0;
      if (work.left() < fewest || work.done() > most) {
        most = work.left() < fewest ? work.done() : Math.max(most, work.done());
        fewest = Math.min(fewest, work.left());
        since = System.nanoTime();
      } else if (work.left() > 0 && System.nanoTime() - since > timeout.toNanos()) {
        return work.words();
      }
    }
    return "";
  }

  /** Waits like {@link #untilQuiet}, but ends at the first idle check. The work must not start again after that. */
  public void until(Callable<String> check) throws Exception {
    for (String busy = check.call(); !busy.isEmpty(); busy = check.call()) {
      pause(busy);
    }
  }

  /**
   * Pauses between two checks.
   *
   * @param busy description of the work in progress
   * @throws IOException if the timeout has passed
   */
  public void pause(String busy) throws IOException, InterruptedException {
    if (elapsed().compareTo(timeout) > 0) {
      throw new IOException("not settled after %d s: %s; raise %s".formatted(timeout.toSeconds(), busy, variable));
    }
    Thread.sleep(PAUSE_MILLIS);
  }

  private Duration elapsed() {
    return Duration.ofNanos(System.nanoTime() - start);
  }
}
