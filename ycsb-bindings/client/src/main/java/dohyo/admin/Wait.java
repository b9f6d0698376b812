package dohyo.admin;

import dohyo.binding.Settings;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.Callable;

/** Waits for servers, in all no longer than the argument {@code timeout} in seconds, 1800 where it is not given. */
public final class Wait {
  private static final long PAUSE_MILLIS = 200;
  /** Checks in a row that must find nothing under way: a flush needs a moment to submit its compaction. */
  private static final int QUIET_CHECKS = 3;

  private final long start = System.nanoTime();
  private final Duration timeout;
  private final String variable;

  /**
   * Starts the clock.
   *
   * @param variable what the user can raise for more time
   */
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

  /**
   * Waits until several checks in a row find nothing under way.
   *
   * @param check says what is under way; empty where nothing is
   * @throws IOException if the time is over
   */
  public void untilQuiet(Callable<String> check) throws Exception {
    for (int quiet = 0; quiet < QUIET_CHECKS;) {
      String busy = check.call();
      quiet = busy.isEmpty() ? quiet + 1 : 0;
      pause(busy);
    }
  }

  /** Like {@link #untilQuiet}, for what does not begin again: one check is enough. */
  public void until(Callable<String> check) throws Exception {
    for (String busy = check.call(); !busy.isEmpty(); busy = check.call()) {
      pause(busy);
    }
  }

  /**
   * Pauses between two checks.
   *
   * @param busy what is under way, for the message
   * @throws IOException if the time is over
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
