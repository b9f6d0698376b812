package dohyo.aerospike;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.aerospike.client.Host;
import com.aerospike.client.policy.ClientPolicy;
import dohyo.binding.SettingException;
import dohyo.binding.Settings;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.Base64;
import java.util.Collections;
import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import site.ycsb.DBException;

/** Tests credentials and TLS as far as possible without an Enterprise server. */
class AccessTest {
  @TempDir
  private Path folder;

  private static Settings settings(String... pairs) {
    Properties properties = new Properties();
    for (int i = 0; i < pairs.length; i += 2) {
      properties.setProperty(pairs[i], pairs[i + 1]);
    }
    return new Settings(properties);
  }

  /** Returns a PEM file with the first certificate authority that this JDK trusts. */
  private Path authority() throws Exception {
    KeyStore known = KeyStore.getInstance(
        Path.of(System.getProperty("java.home"), "lib", "security", "cacerts").toFile(), (char[]) null);
    byte[] certificate = known.getCertificate(Collections.list(known.aliases()).get(0)).getEncoded();
    return Files.writeString(folder.resolve("ca.pem"), "-----BEGIN CERTIFICATE-----\n"
        + Base64.getMimeEncoder().encodeToString(certificate) + "\n-----END CERTIFICATE-----\n");
  }

  @Test
  void anOpenClusterNeedsNothing() {
    ClientPolicy policy = new ClientPolicy();
    Access access = new Access(settings("aerospike.hosts", "192.0.2.1:3000,192.0.2.2:4000"));
    access.configure(policy);
    assertNull(policy.user);
    assertNull(policy.tlsPolicy);
    assertEquals(new Host("192.0.2.2", 4000), access.hosts()[1]);
    assertNull(access.hosts()[0].tlsName);
  }

  @Test
  void aClosedOneGetsTheAccountAndTls() throws Exception {
    ClientPolicy policy = new ClientPolicy();
    Access access = new Access(settings("aerospike.hosts", "192.0.2.1:3000", "aerospike.user", "dohyo",
        "aerospike.password", "p", "aerospike.tlsname", "ring", "aerospike.tlsca", authority().toString()));
    access.configure(policy);
    assertEquals("dohyo", policy.user);
    assertEquals("p", policy.password);
    assertEquals("ring", access.hosts()[0].tlsName);
    assertEquals("TLS", policy.tlsPolicy.context.getProtocol());
  }

  @Test
  void whatIsMissingIsNamed() throws Exception {
    Path empty = Files.writeString(folder.resolve("none.pem"), "no certificate");
    for (String file : new String[] {empty.toString(), folder.resolve("nowhere.pem").toString()}) {
      Access access = new Access(settings("aerospike.tlsname", "ring", "aerospike.tlsca", file));
      SettingException error = assertThrows(SettingException.class, () -> access.configure(new ClientPolicy()));
      assertTrue(error.getMessage().startsWith("aerospike.tlsca=" + file), error.getMessage());
    }
    Access nobody = new Access(settings("aerospike.user", "dohyo"));
    SettingException error = assertThrows(SettingException.class, () -> nobody.configure(new ClientPolicy()));
    assertTrue(error.getMessage().contains("aerospike.password"), error.getMessage());
  }

  /** The driver requires that an event loop may have five commands. */
  @Test
  void tooFewConnectionsAreRefused() {
    Settings settings = settings("aerospike.eventloops", "2", "aerospike.maxconnections", "9");
    SettingException error = assertThrows(SettingException.class, () -> new AerospikeConnection(settings));
    assertTrue(error.getMessage().contains("aerospike.maxconnections=9"), error.getMessage());
  }

  /** Checks that all classes that Netty's event loops need are present. */
  @Test
  void aTlsClientComesAsFarAsTheConnection() throws Exception {
    Settings settings = settings("aerospike.hosts", "127.0.0.1:1", "aerospike.tlsname", "ring", "aerospike.tlsca",
        authority().toString(), "operationtimeout", "500");
    DBException error = assertThrows(DBException.class, () -> new AerospikeConnection(settings));
    assertTrue(error.getMessage().contains("cannot reach Aerospike at 127.0.0.1:1"), error.getMessage());
  }
}
