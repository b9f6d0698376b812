package dohyo.aerospike.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AerospikeAdminTest {
  @ParameterizedTest
  @CsvSource({"off, one, one", "off, quorum, quorum", "master, all, one", "one, quorum, one", "all, one, all",
      "all, quorum, quorum"})
  void aNamespaceMayOverrideTheClientsAcknowledgements(String value, String requested, String expected) {
    assertEquals(expected, AerospikeAdmin.acks(Map.of("override", value), "override", requested));
  }
}
