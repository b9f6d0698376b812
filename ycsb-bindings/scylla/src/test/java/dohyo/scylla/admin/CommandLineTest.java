package dohyo.scylla.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Tests the reader of a server's command line. */
class CommandLineTest {
  @Test
  void whatChangesAMeasurementIsNamed() {
    CommandLine line = new CommandLine(List.of("--options-file", "conf/scylla.yaml", "--overprovisioned", "--memory",
        "1024M", "--unsafe-bypass-fsync", "1", "--kernel-page-cache=true", "--poll-mode", "0"));
    assertFalse(line.forcesToDisk());
    assertEquals(List.of("reads and writes use the page cache of the kernel (--kernel-page-cache)",
        "cores are shared with other processes (--overprovisioned)",
        "fsync is ignored, so nothing is forced to disk (--unsafe-bypass-fsync)",
        "the speed of the disk is unknown (no --io-properties-file)"), line.notes());
  }

  @Test
  void aPreparedServerPollsWhileItIsIdle() {
    List<String> prepared = List.of("--io-properties-file", "/etc/scylla.d/io_properties.yaml",
        "--unsafe-bypass-fsync=0");
    CommandLine line = new CommandLine(prepared);
    assertTrue(line.forcesToDisk());
    String note = "idle cores poll before they sleep, so processor time includes waiting (no --overprovisioned)";
    assertEquals(List.of(note), line.notes());
    List<String> quiet = new ArrayList<>(prepared);
    quiet.addAll(List.of("--idle-poll-time-us", "0"));
    assertEquals(List.of(), new CommandLine(quiet).notes());
  }
}
