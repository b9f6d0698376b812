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
    Properties properties = new Properties();
    for (String pair : ("recordcount=60000 regions=7 " + keys).split(" ")) {
      properties.setProperty(pair.split("=")[0], pair.split("=")[1].replace('_', ' '));
    }
    Settings settings = new Settings(properties);
    byte[][] splits = RegionSplits.of(settings);
    assertEquals(6, splits.length);
    RecordLayout layout = new RecordLayout(settings);
    int[] records = new int[7];
    for (int i = 0; i < 60_000; i++) {
      int found = Arrays.binarySearch(splits, layout.key(i), Bytes.BYTES_COMPARATOR);
      records[found >= 0 ? found + 1 : -found - 1]++;
    }
    for (int count : records) {
      assertEquals(60_000 / 7.0, count, 60_000 / 7.0 / 10);
    }
  }
}
