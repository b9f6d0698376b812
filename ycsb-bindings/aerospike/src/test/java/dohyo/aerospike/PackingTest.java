package dohyo.aerospike;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dohyo.binding.KeyColumns;
import dohyo.binding.Settings;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.junit.jupiter.params.ParameterizedTest;
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
}
