package dohyo.contract;

import java.io.IOException;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * The running server against which a contract is tested.
 *
 * @param properties connection properties of the binding, and {@code server.pid}, the server's process
 */
public record Server(Properties properties) {
  private static final String PROPERTY = "dohyo.server";

  /**
   * Reads the property file that the system property {@code dohyo.server} names.
   *
   * @throws IllegalStateException if the property is not set, or the file cannot be read
   */
  public static Server running() {
    String file = System.getProperty(PROPERTY, "");
    if (file.isEmpty()) {
      throw new IllegalStateException("no server to test against: set -D" + PROPERTY
          + "=FILE (properties of the binding, and server.pid)");
    }
    Properties properties = new Properties();
    try (Reader reader = Files.newBufferedReader(Path.of(file))) {
      properties.load(reader);
    } catch (IOException e) {
      throw new IllegalStateException(PROPERTY + "=" + file + ": cannot be read: " + e, e);
    }
    return new Server(properties);
  }

  /** Returns the properties of this server, overridden and extended by {@code others}. */
  public Properties with(Map<String, String> others) {
    Properties all = new Properties();
    all.putAll(properties);
    all.putAll(others);
    return all;
  }

  /**
   * Stops the server's processes with SIGSTOP. Connections stay open, and no request is answered.
   *
   * @throws IllegalStateException if a process has not stopped after 20 s; in that case all processes continue
   */
  void freeze() throws IOException, InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
    // Wait: kill returns before each thread has got the signal, and PostgreSQL may start a process before it stops.
    String running;
    do {
      signal("STOP");
      running = firstRunning();
      if (running.isEmpty()) {
        return;
      }
      Thread.sleep(5);
    } while (System.nanoTime() < end);
    thaw();
    throw new IllegalStateException("still running 20 s after SIGSTOP: " + running);
  }

  /** Returns the stat line (proc(5)) of the first server thread that has not stopped; empty if all have stopped. */
  private String firstRunning() {
    for (String process : processes()) {
      try (Stream<Path> threads = Files.list(Path.of("/proc", process, "task"))) {
        for (Path thread : threads.toList()) {
          // The state follows the name, which is in parentheses. T means stopped. Z is a zombie, which its stopped
          // parent has not reaped.
          String stat = Files.readString(thread.resolve("stat"));
          if ("TZ".indexOf(stat.charAt(stat.lastIndexOf(')') + 2)) < 0) {
            return stat;
          }
        }
      } catch (UncheckedIOException | IOException e) {
        return "process " + process + ", which has just ended: " + e;
      }
    }
    return "";
  }

  void thaw() throws IOException, InterruptedException {
    signal("CONT");
  }

  void kill() throws IOException, InterruptedException {
    signal("KILL");
  }

  private void signal(String name) throws IOException, InterruptedException {
    for (String process : processes()) {
      int code = new ProcessBuilder("kill", "-" + name, process).inheritIO().start().waitFor();
      if (code != 0 && process.equals(properties.getProperty("server.pid"))) {
        throw new IllegalStateException("server.pid=" + process + ": this user cannot send the process SIG" + name);
      }
    }
  }

  /** Returns the server's process and its descendants: PostgreSQL has one process per connection. */
  private List<String> processes() {
    String pid = properties.getProperty("server.pid", "0");
    return Stream.concat(Stream.of(pid), ProcessHandle.of(Long.parseLong(pid)).stream()
        .flatMap(ProcessHandle::descendants).map(process -> String.valueOf(process.pid()))).toList();
  }
}
