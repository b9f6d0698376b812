package dohyo.cassandra;

import com.datastax.driver.core.Cluster;
import com.datastax.driver.core.RemoteEndpointAwareJdkSSLOptions;
import dohyo.binding.SettingException;
import dohyo.binding.Settings;
import io.netty.channel.socket.SocketChannel;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.Base64;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.TrustManagerFactory;

/** How a connection is let in and protected; the same for clients and administration. */
final class Access {
  private static final String CA = "cassandra.ca";

  private Access() {
  }

  /**
   * Configures the driver.
   *
   * @param settings {@code cassandra.username} and {@code cassandra.password}; {@code cassandra.useSSL}, and
   *                 {@code cassandra.ca}, the certificate of the only authority to trust, as X.509 in Base64 on one
   *                 line; without it those that this JVM trusts
   * @param driver   gets the credentials and the TLS options
   * @throws SettingException if the certificate is none
   */
  static void grant(Settings settings, Cluster.Builder driver) {
    if (settings.has("cassandra.username")) {
      driver.withCredentials(settings.text("cassandra.username", ""), settings.text("cassandra.password", ""));
    }
    if (settings.flag("cassandra.useSSL", false)) {
      try {
        driver.withSSL(new VerifiedTls(settings.has(CA) ? trusting(settings.required(CA)) : SSLContext.getDefault()));
      } catch (GeneralSecurityException | IOException | IllegalArgumentException e) {
        throw new SettingException(CA + ": not an X.509 certificate in Base64 on one line: " + e.getMessage());
      }
    }
  }

  private static SSLContext trusting(String authority) throws GeneralSecurityException, IOException {
    KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
    trusted.load(null, null);
    trusted.setCertificateEntry("ca", CertificateFactory.getInstance("X.509")
        .generateCertificate(new ByteArrayInputStream(Base64.getDecoder().decode(authority))));
    TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(trusted);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, trust.getTrustManagers(), null);
    return context;
  }

  /** TLS that also checks whether the certificate is that of the host; the driver's own leaves that out. */
  private static final class VerifiedTls extends RemoteEndpointAwareJdkSSLOptions {
    VerifiedTls(SSLContext context) {
      super(context, null);
    }

    @Override
    protected SSLEngine newSSLEngine(SocketChannel channel, InetSocketAddress server) {
      // Not getHostName(), which would ask the name service who an address is.
      SSLEngine engine = context.createSSLEngine(server.getHostString(), server.getPort());
      engine.setUseClientMode(true);
      SSLParameters parameters = engine.getSSLParameters();
      parameters.setEndpointIdentificationAlgorithm("HTTPS");
      engine.setSSLParameters(parameters);
      return engine;
    }
  }
}
