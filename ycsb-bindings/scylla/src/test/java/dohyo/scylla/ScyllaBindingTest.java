package dohyo.scylla;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.datastax.driver.core.CodecRegistry;
import com.datastax.driver.core.ProtocolVersion;
import com.datastax.driver.core.SimpleStatement;
import com.datastax.driver.core.Statement;
import dohyo.binding.SettingException;
import dohyo.binding.Settings;
import java.nio.ByteBuffer;
import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** How the binding configures ScyllaDB's driver, read back from the driver itself, without a server. */
class ScyllaBindingTest {
  @ParameterizedTest
  @CsvSource({"'', true", "true, true", "false, false"})
  void shardAwareness(String value, boolean expected) {
    assertEquals(expected, ScyllaBinding.driver(settings("scylla.shardawareness", value)).getConfiguration()
        .getProtocolOptions().isUseAdvancedShardAwareness());
  }

  @ParameterizedTest
  @CsvSource({"'', false", "true, true", "false, false"})
  void lwtRouting(String value, boolean expected) {
    ByteBuffer key = ByteBuffer.wrap(new byte[] {1});
    Statement conditional = new Conditional().setRoutingKey(key).setKeyspace("ycsb");
    Statement sent = configured("scylla.lwtrouting", value).routed(conditional);
    assertEquals(expected, sent.isLWT());
    assertEquals(key, sent.getRoutingKey(ProtocolVersion.V4, CodecRegistry.DEFAULT_INSTANCE));
    assertEquals("ycsb", sent.getKeyspace());
  }

  @Test
  void otherStatementsStayAsTheyAre() {
    Statement plain = new SimpleStatement("SELECT * FROM ycsb.usertable");
    assertFalse(plain.isLWT());
    assertTrue(plain == new ScyllaBinding().routed(plain));
  }

  @ParameterizedTest
  @ValueSource(strings = {"scylla.shardawareness", "scylla.lwtrouting"})
  void impossibleValuesAreRefusedByName(String key) {
    SettingException refused = assertThrows(SettingException.class,
        () -> new ScyllaBinding().connect(settings(key, "perhaps")));
    assertEquals(key + "=perhaps: must be true or false", refused.getMessage());
  }

  /** A binding that has read its options and then found no host. */
  private static ScyllaBinding configured(String key, String value) {
    ScyllaBinding binding = new ScyllaBinding();
    assertThrows(SettingException.class, () -> binding.connect(settings(key, value)), "hosts: no value");
    return binding;
  }

  private static Settings settings(String key, String value) {
    Properties properties = new Properties();
    if (!value.isEmpty()) {
      properties.setProperty(key, value);
    }
    return new Settings(properties);
  }

  /** Marked as the driver marks what a ScyllaDB server has called conditional. */
  private static final class Conditional extends SimpleStatement {
    Conditional() {
      super("UPDATE ycsb.usertable SET field0 = 'a' WHERE y_id = 'k' IF EXISTS");
    }

    @Override
    public boolean isLWT() {
      return true;
    }
  }
}
