package dohyo.hbase.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dohyo.binding.Settings;
import dohyo.workload.RecordLayout;
import java.util.Arrays;
import java.util.Properties;
import org.apache.hadoop.hbase.util.Bytes;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RegionSplitsTest {
  @ParameterizedTest
  @ValueSource(strings = {"insertorder=hashed", "insertorder=ordered", "insertorder=ordered zeropadding=9",
      "insertorder=ordered keycolumns=series_bigint_100,time_timestamp",
      "insertorder=ordered keycolumns=series_bigint_100000000,time_timestamp",
      "insertorder=ordered keycolumns=host_int_10,user_bigint_1000,object_text(32)_100,when_timestamp"})
  void everyRegionGetsAsManyRecords(String keys) {
    assertEqualRegions("recordcount=60000 " + keys, 0, 1, 0, 60_000);
    for (int table = 0; table < 3; table++) {
      assertEqualRegions("recordcount=60000 " + keys, table, 3, table * 20_000, 20_000);
    }
    assertEqualRegions("recordcount=60000 insertstart=5000 insertcount=9000 " + keys, 0, 1, 5000, 9000);
  }

  private static void assertEqualRegions(String arguments, int table, int tables, int first, int count) {
    Properties properties = new Properties();
    for (String pair : (arguments + " regions=7").split(" ")) {
      properties.setProperty(pair.split("=")[0], pair.split("=")[1].replace('_', ' '));
    }
    Settings settings = new Settings(properties);
    byte[][] splits = RegionSplits.of(settings, table, tables);
    assertEquals(6, splits.length);
    RecordLayout layout = new RecordLayout(settings);
    int[] records = new int[7];
    for (int i = first; i < first + count; i++) {
      int found = Arrays.binarySearch(splits, layout.key(i), Bytes.BYTES_COMPARATOR);
      records[found >= 0 ? found + 1 : -found - 1]++;
    }
    for (int each : records) {
      assertEquals(count / 7.0, each, count / 7.0 / 10);
    }
  }
}
