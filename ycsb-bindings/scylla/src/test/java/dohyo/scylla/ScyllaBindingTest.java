package dohyo.scylla;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dohyo.binding.SettingException;
import dohyo.binding.Settings;
import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Checks the configuration of ScyllaDB's driver, read back from the driver without a server. */
class ScyllaBindingTest {
  @ParameterizedTest
  @CsvSource({"'', true", "true, true", "false, false"})
  void shardAwareness(String value, boolean expected) {
    assertEquals(expected, ScyllaBinding.driver(settings(value)).getConfiguration()
        .getProtocolOptions().isUseAdvancedShardAwareness());
  }

  @Test
  void impossibleValuesAreRefusedByName() {
    SettingException refused = assertThrows(SettingException.class,
        () -> ScyllaBinding.driver(settings("perhaps")));
    assertEquals("scylla.shardawareness=perhaps: must be true or false", refused.getMessage());
  }

  private static Settings settings(String value) {
    Properties properties = new Properties();
    if (!value.isEmpty()) {
      properties.setProperty("scylla.shardawareness", value);
    }
    return new Settings(properties);
  }
}
