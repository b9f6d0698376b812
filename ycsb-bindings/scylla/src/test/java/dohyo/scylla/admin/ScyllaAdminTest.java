package dohyo.scylla.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dohyo.cassandra.admin.CqlAdmin;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Tests the reader of the server's settings, without a server. */
class ScyllaAdminTest {
  @Test
  void protectionIsNamed() {
    assertEquals(List.of("users have passwords", "TLS to clients", "TLS among nodes"), CqlAdmin.protection(Map.of(
        "authenticator", "org.apache.cassandra.auth.PasswordAuthenticator",
        "client_encryption_options", "{\"certificate\":\"/c.pem\",\"enabled\":\"true\"}",
        "server_encryption_options", "{\"internode_encryption\": \"all\"}")).toList());
  }

  @Test
  void noneIsNotNamed() {
    assertEquals(List.of(), CqlAdmin.protection(Map.of("authenticator", "AllowAllAuthenticator",
        "client_encryption_options", "{\"enabled\":\"false\",\"keyfile\":\"true\"}",
        "server_encryption_options", "{\"internode_encryption\":\"none\",\"truststore\":\"all\"}")).toList());
    assertEquals(List.of(), CqlAdmin.protection(Map.of()).toList());
  }

  @Test
  void serverWithoutCommitLogKeepsNothing() {
    assertEquals("disk", CqlAdmin.durability(Map.of("commitlog_sync", "batch", "enable_commitlog", "true")));
    assertEquals("memory", CqlAdmin.durability(Map.of("commitlog_sync", "periodic")));
    assertEquals("none", CqlAdmin.durability(Map.of("commitlog_sync", "batch", "enable_commitlog", "false")));
  }
}
