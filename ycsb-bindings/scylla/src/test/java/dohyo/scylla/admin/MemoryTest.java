package dohyo.scylla.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import org.junit.jupiter.api.Test;

/** Tests the reader of metrics in Prometheus' text format. */
class MemoryTest {
  @Test
  void shardsAreCountedAndSummedUp() throws IOException {
    assertEquals(new Memory(2, 1536), Memory.of("""
        # HELP scylla_memory_total_memory Total memory size in bytes
        # TYPE scylla_memory_total_memory gauge
        scylla_memory_total_memory{shard="0"} 8.05306368e+08
        scylla_memory_total_memory{shard="1"} 805306368 1795252964983
        scylla_memory_total_memory_of_another_name{shard="0"} 1
        """));
  }

  @Test
  void aPageWithoutThemIsNone() {
    assertThrows(IOException.class, () -> Memory.of("<html>not this page</html>"));
  }
}
