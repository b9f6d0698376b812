package dohyo.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** Tests the list of allowed processors in a JVM that is bound to one processor. */
class FootprintTest {
  /** Prints the processors that this process may use. */
  public static void main(String[] arguments) {
    System.out.print(Footprint.processors());
  }

  @Test
  void aProcessNamesTheProcessorsItIsBoundTo() throws Exception {
    assumeTrue(Runtime.getRuntime().availableProcessors() > 1);
    String classes = place(Footprint.class) + ":" + place(FootprintTest.class);
    String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    Process process =
        new ProcessBuilder("taskset", "-c", "0", java, "-Xmx32m", "-cp", classes, FootprintTest.class.getName())
            .redirectErrorStream(true).start();
    assertEquals("0", new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8));
    assertEquals(0, process.waitFor());
  }

  private static Path place(Class<?> of) throws Exception {
    return Path.of(of.getProtectionDomain().getCodeSource().getLocation().toURI());
  }
}
