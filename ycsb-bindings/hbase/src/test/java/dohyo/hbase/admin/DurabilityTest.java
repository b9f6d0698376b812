package dohyo.hbase.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;

class DurabilityTest {
  @Test
  void oneServerWithoutLogKeepsNothing() {
    Configuration synced = server("hbase.wal.hsync", "true");
    Configuration unsynced = server("hbase.wal.provider", "asyncfs");
    assertEquals("disk", HBaseAdmin.durability(List.of(synced, synced)));
    assertEquals("memory", HBaseAdmin.durability(List.of(synced, unsynced)));
    assertEquals("none",
        HBaseAdmin.durability(List.of(synced, server("hbase.regionserver.hlog.enabled", "false"))));
    assertEquals("none", HBaseAdmin.durability(List.of(synced, server("hbase.wal.provider", "disabled"))));
  }

  private static Configuration server(String name, String value) {
    Configuration running = new Configuration(false);
    running.set(name, value);
    return running;
  }
}
