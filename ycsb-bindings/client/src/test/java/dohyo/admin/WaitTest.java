package dohyo.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dohyo.binding.Settings;
import java.util.Map;
import java.util.Properties;
import org.junit.jupiter.api.Test;

class WaitTest {
  private static final long SECOND = 1_000_000_000;

  private static Wait wait(int seconds) {
    Properties arguments = new Properties();
    arguments.putAll(Map.of("timeout", Integer.toString(seconds)));
    return new Wait(new Settings(arguments), "x_timeout");
  }

  @Test
  void progressIsWaitedForBeyondTheTimeout() throws Exception {
    long begin = System.nanoTime();
    // At first the same tasks make progress, then fewer tasks are left.
    String left = wait(1).untilQuietOrStalled(() -> {
      long time = System.nanoTime() - begin;
      return new Wait.Work(time < 2 * SECOND ? 3 : time < 2.5 * SECOND ? 1 : 0, time < 2 * SECOND ? time : 5, "busy");
    });
    assertEquals("", left);
    assertTrue(System.nanoTime() - begin > 2.5 * SECOND);
  }

  @Test
  void workThatBeginsAgainAndAgainIsNoProgress() throws Exception {
    int[] checks = {0};
    assertEquals("2 left", wait(1).untilQuietOrStalled(() -> new Wait.Work(2, checks[0]++ % 3, "2 left")));
  }
}
