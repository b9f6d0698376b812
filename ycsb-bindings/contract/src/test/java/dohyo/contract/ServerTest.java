package dohyo.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class ServerTest {
  /** Tests a zombie, such as a process of PostgreSQL that ends while its parent is stopped and cannot reap it. */
  @Test
  @Timeout(60)
  void stopsAServerWithAProcessThatHasEnded() throws Exception {
    // The first child waits for its parent to become sleep: bash would reap a child that ended before.
    String zombie = "until read -r name </proc/$$/comm && [ \"$name\" = sleep ]; do :; done";
    Process process = new ProcessBuilder("bash", "-c", "(" + zombie + ") & sleep 60 & exec sleep 60").start();
    try {
      Properties properties = new Properties();
      properties.setProperty("server.pid", String.valueOf(process.pid()));
      Server server = new Server(properties);
      while (!states(process).equals("SSZ")) {
        Thread.sleep(10);
      }
      server.freeze();
      assertEquals("TTZ", states(process));
      server.thaw();
      while (!states(process).equals("SSZ")) {
        Thread.sleep(10);
      }
      server.kill();
    } finally {
      process.descendants().forEach(ProcessHandle::destroyForcibly);
      process.destroyForcibly();
    }
  }

  /** Returns the states (letters of proc(5)) of a process and its descendants, sorted. */
  private static String states(Process process) {
    return Stream.concat(Stream.of(process.toHandle()), process.descendants()).map(ServerTest::state).sorted()
        .collect(Collectors.joining());
  }

  private static String state(ProcessHandle process) {
    try {
      String stat = Files.readString(Path.of("/proc", String.valueOf(process.pid()), "stat"));
      return stat.substring(stat.lastIndexOf(')') + 2).substring(0, 1);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
