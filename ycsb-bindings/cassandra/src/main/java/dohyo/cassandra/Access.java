package dohyo.cassandra;

import com.datastax.driver.core.Cluster;
import com.datastax.driver.core.EndPoint;
import com.datastax.driver.core.RemoteEndpointAwareJdkSSLOptions;
import com.datastax.driver.core.exceptions.NoHostAvailableException;
import dohyo.binding.SettingException;
import dohyo.binding.Settings;
import dohyo.binding.Tls;
import io.netty.channel.socket.SocketChannel;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.security.GeneralSecurityException;
import java.util.Base64;
import java.util.stream.Collectors;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;

/** Configures the credentials and TLS of a connection, both for clients and for administration. */
public final class Access {
  private static final String CA = "cassandra.ca";

  private Access() {
  }

  /**
   * Configures the driver.
   *
   * @param settings {@code cassandra.username} and {@code cassandra.password}; {@code cassandra.useSSL}; {@code
   *                 cassandra.ca}, the certificate of the only authority to trust, as X.509 in Base64 on one line
   *                 (default: the JVM's authorities)
   * @param driver   receives the credentials and the TLS options
   * @throws SettingException if the certificate cannot be parsed
   */
  public static void configure(Settings settings, Cluster.Builder driver) {
    if (settings.has("cassandra.username")) {
      driver.withCredentials(settings.text("cassandra.username", ""), settings.text("cassandra.password", ""));
    }
    if (settings.flag("cassandra.useSSL", false)) {
      try {
        driver.withSSL(new VerifiedTls(settings.has(CA) ? authority(settings.required(CA)) : SSLContext.getDefault()));
      } catch (GeneralSecurityException | IOException | IllegalArgumentException e) {
        throw new SettingException(CA + ": not an X.509 certificate in Base64 on one line: " + e.getMessage());
      }
    }
  }

  /**
   * Returns why the driver could not connect, without the names of its classes.
   *
   * @param e what {@link Cluster#connect()} has thrown
   */
  public static String reason(RuntimeException e) {
    return e instanceof NoHostAvailableException none
        ? none.getErrors().entrySet().stream().map(failed -> reason(failed.getKey(), failed.getValue()))
            .collect(Collectors.joining("; "))
        : e.getMessage();
  }

  private static String reason(EndPoint server, Throwable error) {
    String reason = error.toString();
    for (Throwable cause = error; cause != null; cause = cause.getCause()) {
      reason = cause.getMessage() == null ? reason : cause.getMessage();
    }
    return reason.contains(server.toString()) ? reason : server + ": " + reason;
  }

  private static SSLContext authority(String certificate) throws GeneralSecurityException, IOException {
    return Tls.trusting(new ByteArrayInputStream(Base64.getDecoder().decode(certificate)));
  }

  /** TLS that also checks that the certificate belongs to the host, unlike the driver's own TLS. */
  private static final class VerifiedTls extends RemoteEndpointAwareJdkSSLOptions {
    VerifiedTls(SSLContext context) {
      super(context, null);
    }

    @Override
    protected SSLEngine newSSLEngine(SocketChannel channel, InetSocketAddress server) {
      // Do not call getHostName(), which would query the name service.
      SSLEngine engine = context.createSSLEngine(server.getHostString(), server.getPort());
      engine.setUseClientMode(true);
      SSLParameters parameters = engine.getSSLParameters();
      parameters.setEndpointIdentificationAlgorithm("HTTPS");
      engine.setSSLParameters(parameters);
      return engine;
    }
  }
}
