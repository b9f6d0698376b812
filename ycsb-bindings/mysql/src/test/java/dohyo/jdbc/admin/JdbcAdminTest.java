package dohyo.jdbc.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dohyo.binding.Binding;
import dohyo.binding.Settings;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class JdbcAdminTest {
  @TempDir
  private Path folder;

  private long millis(Map<String, String> more) throws Exception {
    Properties arguments = new Properties();
    arguments.putAll(more);
    Path file = Files.writeString(folder.resolve("client.properties"), "operationtimeout=10000\n");
    arguments.setProperty("connection", file.toString());
    return Binding.operationTimeout(JdbcAdmin.connection(new Settings(arguments)));
  }

  @ParameterizedTest
  @CsvSource({"60, 600000", "1800, 1800000", "2147483647, 86400000"})
  void aStatementMayTakeAsLongAsItsVerb(String timeout, long expected) throws Exception {
    assertEquals(expected, millis(Map.of("timeout", timeout)));
  }

  @Test
  void aVerbWithoutATimeoutHasTenMinutes() throws Exception {
    assertEquals(600_000, millis(Map.of()));
  }
}
