package dohyo.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dohyo.admin.Attached;
import dohyo.binding.Settings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.UUID;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests the contract for administering attached servers, on the real server that {@link Server#running} returns.
 * The tests create, change and remove their own place, and change nothing else.
 */
@Timeout(180)
public abstract class AttachedContract {
  protected final Server server = Server.running();

  /** Name of the place: the keyspace, database or namespace that a run creates. */
  protected final String place = "dohyo_" + UUID.randomUUID().toString().replace("-", "").substring(0, 16);

  @TempDir
  private Path folder;

  /** Returns the administration that Ansible calls. */
  protected abstract Attached.Opening opening();

  /** Returns the arguments for servers and tables, as {@code attach()} in the system's class gives them. */
  protected abstract Map<String, String> words();

  /** Creates a foreign object in the place, or replaces the run's mark. */
  protected abstract void intrude() throws Exception;

  /** Undoes {@link #intrude}. */
  protected abstract void withdraw() throws Exception;

  /** Returns a description of each object outside the place. */
  protected abstract List<String> others() throws Exception;

  @BeforeEach
  void writeDownHowToConnect() throws IOException {
    StringBuilder access = new StringBuilder();
    for (String key : server.properties().stringPropertyNames()) {
      if (key.matches(".*[.](user|username|password)")) {
        access.append(key).append('=').append(server.properties().getProperty(key)).append('\n');
      }
    }
    Files.writeString(folder.resolve("connection"), access);
  }

  private Path made() {
    return folder.resolve("made");
  }

  /** Returns the path of a file in the folder of the test. */
  protected final Path own(String name) {
    return folder.resolve(name);
  }

  /**
   * Runs a verb, such as {@code schema}.
   *
   * @param verb name of the verb
   * @param more names and values of further arguments
   */
  protected final Map<String, ?> run(String verb, String... more) throws Exception {
    Properties arguments = new Properties();
    arguments.putAll(Map.of("place", place, "made", made().toString(), "trial", place.substring("dohyo_".length()),
        "connection", folder.resolve("connection").toString(), "tables", "usertable", "keycolumns", "",
        "recordcount", "100", "countlimit", "1000"));
    arguments.putAll(Map.of("write_acks", "all", "read_acks", "one", "fieldcount", "2", "fieldnameprefix", "field",
        "compression", "none", "replication", "1", "timeout", "120", "folder", folder.toString()));
    arguments.putAll(words());
    for (int i = 0; i < more.length; i += 2) {
      arguments.setProperty(more[i], more[i + 1]);
    }
    return Attached.verbs(opening()).get(verb).run(new Settings(arguments));
  }

  private boolean exists() throws Exception {
    return (boolean) run("doctor").get("exists");
  }

  @Test
  void aPlaceIsMadeAndRemovedAndNothingElse() throws Exception {
    List<String> before = others();
    assertFalse(exists());
    Map<?, ?> conditions = (Map<?, ?>) run("schema").get("conditions");
    assertTrue(conditions.get("version").toString().matches("[0-9]+[.].*"), conditions.toString());
    assertTrue(exists());
    assertTrue(Files.exists(made()));
    List<Long> none = List.of(0L);
    assertEquals(none, List.copyOf(((Map<?, ?>) run("count").get("rows")).values()));
    assertEquals(false, run("settle", "flush", "false").get("flushed"));
    assertEquals(Map.of(), run("stats"));
    assertEquals(List.of(), run("doctor").get("missing"));
    assertEquals(true, run("remove").get("removed"));
    assertFalse(exists());
    assertFalse(Files.exists(made()));
    assertEquals(before, others());
  }

  @Test
  void aPlaceOfSomebodyElseIsRefusedAndStays() throws Exception {
    run("schema");
    Path aside = Files.move(made(), folder.resolve("aside"));
    IOException refused = assertThrows(IOException.class, () -> run("schema"));
    assertTrue(refused.getMessage().contains("exists, but this run did not create it"), refused.getMessage());
    assertFalse(Files.exists(made()));
    run("remove");
    assertTrue(exists(), "remove does nothing without the file");
    // Replace the mark with that of another run.
    Files.writeString(made(), "another");
    assertThrows(IOException.class, () -> run("remove"));
    assertTrue(exists());
    Files.move(aside, made(), StandardCopyOption.REPLACE_EXISTING);
    assertEquals(true, run("remove").get("removed"));
  }

  @Test
  void whatSomebodyElseHasPutThereIsNotRemoved() throws Exception {
    run("schema");
    intrude();
    IOException refused = assertThrows(IOException.class, () -> run("remove"));
    assertTrue(refused.getMessage().contains("did not create; nothing was removed"), refused.getMessage());
    withdraw();
    assertTrue(exists());
    assertEquals(true, run("remove").get("removed"));
    assertFalse(exists());
  }
}
