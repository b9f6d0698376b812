package dohyo.contract;

import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Properties;

/**
 * The running server that a contract is tested against.
 *
 * @param properties connection properties of the binding, and {@code server.pid}, the server's process
 */
public record Server(Properties properties) {
  private static final String PROPERTY = "dohyo.server";

  /**
   * Reads the property file that the system property {@code dohyo.server} names.
   *
   * @throws IllegalStateException if there is none, or it cannot be read
   */
  public static Server running() {
    String file = System.getProperty(PROPERTY, "");
    if (file.isEmpty()) {
      throw new IllegalStateException("no server to test against: give -D" + PROPERTY
          + "=FILE, a property file with the binding's connection properties and server.pid");
    }
    Properties properties = new Properties();
    try (Reader reader = Files.newBufferedReader(Path.of(file))) {
      properties.load(reader);
    } catch (IOException e) {
      throw new IllegalStateException(PROPERTY + "=" + file + ": cannot be read: " + e, e);
    }
    return new Server(properties);
  }

  /** The properties of this server with others put over them. */
  public Properties with(Map<String, String> others) {
    Properties all = new Properties();
    all.putAll(properties);
    all.putAll(others);
    return all;
  }

  /** Stops the server's process where it stands: connections stay open, and nothing is answered. */
  void freeze() throws IOException, InterruptedException {
    signal("STOP");
  }

  void thaw() throws IOException, InterruptedException {
    signal("CONT");
  }

  void kill() throws IOException, InterruptedException {
    signal("KILL");
  }

  private void signal(String name) throws IOException, InterruptedException {
    String pid = properties.getProperty("server.pid", "");
    int code = new ProcessBuilder("kill", "-" + name, pid).inheritIO().start().waitFor();
    if (code != 0) {
      throw new IllegalStateException("server.pid=" + pid + ": no such process that may be sent SIG" + name);
    }
  }
}
