package dohyo.admin;

import dohyo.binding.Settings;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.Callable;

/** Waits for servers, in total at most the argument {@code timeout} in seconds (default 1800). */
public final class Wait {
  private static final long PAUSE_MILLIS = 200;
  /** Idle checks in a row: a flush needs a moment to submit its compaction. */
  private static final int QUIET_CHECKS = 3;

  private final long start = System.nanoTime();
  private final Duration timeout;
  private final String variable;

  /** Starts the clock; messages name the variable that the user can raise for more time. */
  public Wait(Settings arguments, String variable) {
    timeout = Duration.ofSeconds(arguments.number("timeout", 1800, 1, Integer.MAX_VALUE));
    this.variable = variable;
  }

  public Duration timeout() {
    return timeout;
  }

  /** Seconds since the start. */
  public long seconds() {
    return elapsed().toSeconds();
  }

  /** Waits until several checks in a row return nothing: a check describes the work that is still in progress. */
  public void untilQuiet(Callable<String> check) throws Exception {
    for (int quiet = 0; quiet < QUIET_CHECKS;) {
      String busy = check.call();
      quiet = busy.isEmpty() ? quiet + 1 : 0;
      pause(busy);
    }
  }

  /**
   * The work that is left.
   *
   * @param left  pieces of work; 0 is none
   * @param done  of the pieces under way, in any unit
   * @param words both, for messages
   */
  public record Work(long left, long done, String words) {
  }

  /**
   * Waits like {@link #untilQuiet}, but for as long as there is progress: fewer pieces of work are left than ever, or
   * as many with more done than ever. Work that fails and restarts again and again is no progress.
   *
   * @return what is left, in words, if there was no progress for the timeout; "" if nothing is left
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

  /** Like {@link #untilQuiet}, for work that does not start again: one check is enough. */
  public void until(Callable<String> check) throws Exception {
    for (String busy = check.call(); !busy.isEmpty(); busy = check.call()) {
      pause(busy);
    }
  }

  /** Pauses between two checks, or fails with a description of the work in progress if the time is over. */
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
