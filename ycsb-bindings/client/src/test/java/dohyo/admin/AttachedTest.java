package dohyo.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dohyo.binding.Settings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AttachedTest {
  /** Cluster in memory: marks of the tables, by place. */
  private final Map<String, String> cluster = new HashMap<>();

  /** Message of the exception that the cluster throws; null if it throws none. */
  private String refusal;

  @TempDir
  private Path folder;

  private final class Memory implements Attached {
    private final Settings arguments;

    Memory(Settings arguments) {
      this.arguments = arguments;
    }

    @Override
    public String what() {
      return "the place " + arguments.required("place");
    }

    @Override
    public boolean exists() {
      if (refusal != null) {
        throw new IllegalStateException(refusal);
      }
      return cluster.containsKey(arguments.required("place"));
    }

    @Override
    public boolean make() {
      return cluster.putIfAbsent(arguments.required("place"), "") == null;
    }

    @Override
    public void createTables() {
      cluster.put(arguments.required("place"), Admin.mark(arguments));
    }

    @Override
    public List<String> foreign() {
      String mark = cluster.get(arguments.required("place"));
      return Admin.mark(arguments).equals(mark) ? List.of() : List.of("the table t");
    }

    @Override
    public String remove() {
      cluster.remove(arguments.required("place"));
      return "";
    }

    @Override
    public Map<String, Object> conditions() {
      return Map.of();
    }

    @Override
    public Map<String, Long> countRows() {
      return Map.of();
    }

    @Override
    public void ping() {
      // Succeeds.
    }

    @Override
    public List<String> missingRights() {
      return List.of();
    }

    @Override
    public void close() {
      // There is no connection.
    }
  }

  private Map<String, ?> run(String verb, Path made) throws Exception {
    Properties arguments = new Properties();
    arguments.putAll(Map.of("place", "dohyo_1", "trial", "1", "made", made.toString(),
        "connection", Files.writeString(
        folder.resolve("connection"), "x.user=ann\nx.password=pw\nprincipal=bob@A.B\nx.principal=hb\n").toString()));
    return Attached.verbs(Memory::new).get(verb).run(new Settings(arguments));
  }

  @Test
  void whoHasMadeAPlaceRemovesIt() throws Exception {
    Path made = folder.resolve("made");
    run("schema", made);
    assertEquals(Boolean.TRUE, run("remove", made).get("removed"));
    assertEquals(Map.of(), cluster);
    assertTrue(Files.notExists(made));
  }

  /** Checks that messages, which become evidence, do not contain credentials. */
  @Test
  void aMessageDoesNotSayWhoWeAre() throws Exception {
    refusal = "Access denied for user 'ann'@'h', anna, pw, bob@A.B, bob (auth:KERBEROS), hb";
    IOException error = assertThrows(IOException.class, () -> run("schema", folder.resolve("made")));
    assertEquals("java.lang.IllegalStateException: Access denied for user '(x.user)'@'h', anna, (x.password),"
        + " (principal), (principal) (auth:KERBEROS), hb",
        error.getMessage());
  }

  @Test
  void aPlaceThatIsThereIsRefused() throws Exception {
    run("schema", folder.resolve("made"));
    Path other = folder.resolve("other");
    assertThrows(IOException.class, () -> run("schema", other));
    assertTrue(Files.notExists(other));
  }

  /** Tests trials with the same name, which comes from the evidence's path. Another machine may use this path, too. */
  @Test
  void theRunOfAnotherMachineIsLeftAloneThoughItsTrialHasTheSameName() throws Exception {
    run("schema", folder.resolve("made"));
    // This file is from another run, which was killed just before it created the place.
    Path killed = Files.writeString(folder.resolve("killed"), "another\nthe place dohyo_1\n");
    IOException error = assertThrows(IOException.class, () -> run("remove", killed));
    assertTrue(error.getMessage().endsWith("nothing was removed"), error.getMessage());
    assertEquals(1, cluster.size());
    assertTrue(Files.exists(killed));
  }
}
