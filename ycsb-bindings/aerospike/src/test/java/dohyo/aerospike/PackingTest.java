package dohyo.aerospike;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dohyo.binding.KeyColumns;
import dohyo.binding.Settings;
import dohyo.workload.RecordLayout;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class PackingTest {
  @ParameterizedTest
  @ValueSource(strings = {"host int 2, when timestamp", "host bigint 2, when int", "host int 2, when text(20)"})
  void tenNeighboursOfAPartitionMakeABlock(String columns) {
    Properties properties = new Properties();
    properties.putAll(Map.of("insertorder", "ordered", "recordcount", "400", "keycolumns", columns));
    Settings settings = new Settings(properties);
    KeyColumns key = KeyColumns.of(settings, "key");
    Packing packing = new Packing(10, settings);
    Map<ByteBuffer, Integer> records = new HashMap<>();
    for (int number = 0; number < 400; number++) {
      records.merge(ByteBuffer.wrap(packing.block(key.key(number))), 1, Integer::sum);
    }
    assertEquals(40, records.size());
    assertEquals(List.of(10), records.values().stream().distinct().toList());
  }

  @ParameterizedTest
  @CsvSource({"0, 40000, 40000", "0, '', 40000", "10000, 4000, 4000", "36000, '', 4000"})
  void tenOfTheLoadedRecordsMakeABlock(String start, String count, int loaded) {
    Properties properties = new Properties();
    properties.putAll(Map.of("recordcount", "40000", "insertstart", start));
    if (!count.isEmpty()) {
      properties.setProperty("insertcount", count);
    }
    Settings settings = new Settings(properties);
    RecordLayout layout = new RecordLayout(settings);
    Packing packing = new Packing(10, settings);
    Set<ByteBuffer> blocks = new HashSet<>();
    for (int number = Integer.parseInt(start); number < Integer.parseInt(start) + loaded; number++) {
      blocks.add(ByteBuffer.wrap(packing.block(layout.key(number))));
    }
    assertEquals(loaded / 10.0, blocks.size(), loaded / 1000.0);
  }
}
