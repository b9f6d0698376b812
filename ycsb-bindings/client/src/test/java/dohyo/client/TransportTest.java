package dohyo.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dohyo.binding.Binding;
import dohyo.binding.SettingException;
import dohyo.binding.Settings;
import dohyo.binding.Transport;
import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests the defaults of connections, event loops and retries (docs/conditions.md). */
class TransportTest {
  @ParameterizedTest
  @CsvSource({"1, 1, 1", "1, 4, 1", "7, 4, 2", "8, 4, 2", "31, 1, 31", "31, 100, 1"})
  void everyEventLoopHasAConnection(int loops, int servers, int connections) {
    assertEquals(connections, Transport.connectionsPerServer(loops, servers));
  }

  @Test
  void thereIsALoopForEachProcessorButOne() {
    int processors = Runtime.getRuntime().availableProcessors();
    assertEquals(Math.max(1, processors - 1), Transport.eventLoops(settings("", ""), "loops"));
    assertEquals(5, Transport.eventLoops(settings("loops", "5"), "loops"));
    assertThrows(SettingException.class, () -> Transport.eventLoops(settings("loops", "0"), "loops"));
  }

  @Test
  void nothingIsSentAgainUnlessAskedFor() {
    assertEquals(0, Binding.retries(settings("", "")));
    assertEquals(3, Binding.retries(settings("retries", "3")));
    assertThrows(SettingException.class, () -> Binding.retries(settings("retries", "-1")));
  }

  private static Settings settings(String key, String value) {
    Properties properties = new Properties();
    properties.setProperty(key, value);
    return new Settings(properties);
  }
}
