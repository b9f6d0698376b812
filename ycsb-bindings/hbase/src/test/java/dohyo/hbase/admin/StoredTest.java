package dohyo.hbase.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.apache.hadoop.hbase.RegionMetrics;
import org.apache.hadoop.hbase.RegionMetricsBuilder;
import org.apache.hadoop.hbase.Size;
import org.junit.jupiter.api.Test;

class StoredTest {
  @Test
  void recordsThatWereNotFlushedAreInMemstores() {
    Stored stored = Stored.of(List.of(region(0, 40), region(0, 2)));
    assertEquals(new Stored(0, 42), stored);
    assertEquals("settle.flush=false: all records are in memstores, none in files", stored.unflushed());
  }

  @Test
  void readersAreToldOfFilesThatHbaseHasWrittenByItself() {
    Stored stored = Stored.of(List.of(region(2, 40), region(1, 0)));
    assertEquals(new Stored(3, 40), stored);
    assertTrue(stored.unflushed().startsWith("settle.flush=false: full memstores became 3 files; raise hbase_heap"));
  }

  private static RegionMetrics region(int files, int memstoreMegabytes) {
    return RegionMetricsBuilder.newBuilder(new byte[] {1}).setStoreFileCount(files)
        .setMemStoreSize(new Size(memstoreMegabytes, Size.Unit.MEGABYTE)).build();
  }
}
