package dohyo.aerospike;

import com.aerospike.client.Host;
import com.aerospike.client.policy.ClientPolicy;
import com.aerospike.client.policy.TlsPolicy;
import dohyo.binding.SettingException;
import dohyo.binding.Settings;
import dohyo.binding.Tls;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import javax.net.ssl.SSLContext;

/**
 * Addresses, credentials and TLS of the servers: {@code aerospike.hosts} and {@code .port}; {@code .user} and {@code
 * .password} if the servers require them; {@code .tlsname}, the name in their certificates, and {@code .tlsca}, a PEM
 * file with the authorities to trust, if they use TLS. Credentials and TLS need the Enterprise edition.
 */
public final class Access {
  private final Settings settings;

  public Access(Settings settings) {
    this.settings = settings;
  }

  boolean isEncrypted() {
    return settings.has("aerospike.tlsname");
  }

  /**
   * Returns the hosts to which the client connects first.
   *
   * @throws SettingException if {@code aerospike.hosts} is not a list of hosts, or {@code aerospike.port} is out of
   *                          range
   */
  public Host[] hosts() {
    String hosts = settings.text("aerospike.hosts", "localhost");
    try {
      Host[] plain = Host.parseHosts(hosts, settings.number("aerospike.port", 3000, 1, 65_535));
      return isEncrypted()
          ? Arrays.stream(plain).map(host -> new Host(host.name, settings.required("aerospike.tlsname"), host.port))
              .toArray(Host[]::new)
          : plain;
    } catch (IllegalArgumentException e) {
      throw new SettingException("aerospike.hosts=" + hosts + ": " + e.getMessage());
    }
  }

  /**
   * Configures credentials and TLS of a client.
   *
   * @throws SettingException if the file with the authorities cannot be read
   */
  public void configure(ClientPolicy policy) {
    if (settings.has("aerospike.user")) {
      policy.user = settings.required("aerospike.user");
      policy.password = settings.required("aerospike.password");
    }
    if (isEncrypted()) {
      policy.tlsPolicy = new TlsPolicy();
      policy.tlsPolicy.context = context(Path.of(settings.required("aerospike.tlsca")));
    }
  }

  private static SSLContext context(Path authorities) {
    try (InputStream file = Files.newInputStream(authorities)) {
      return Tls.trusting(file);
    } catch (IOException | GeneralSecurityException e) {
      throw new SettingException("aerospike.tlsca=" + authorities + ": must be a PEM file with certificates: " + e);
    }
  }
}
