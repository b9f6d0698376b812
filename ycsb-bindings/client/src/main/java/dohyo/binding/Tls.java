package dohyo.binding;

import java.io.IOException;
import java.io.InputStream;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** TLS with custom certificate authorities. */
public final class Tls {
  private Tls() {
  }

  /**
   * Returns a context that trusts only these authorities.
   *
   * @param certificates X.509 certificates in PEM or DER
   * @throws GeneralSecurityException if the certificates cannot be parsed, or there are none
   * @throws IOException              if the stream cannot be read
   */
  public static SSLContext trusting(InputStream certificates) throws GeneralSecurityException, IOException {
    KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
    trusted.load(null, null);
    for (Certificate authority : CertificateFactory.getInstance("X.509").generateCertificates(certificates)) {
      trusted.setCertificateEntry("authority" + trusted.size(), authority);
    }
    if (trusted.size() == 0) {
      throw new CertificateException("no certificate found");
    }
    TrustManagerFactory managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    managers.init(trusted);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, managers.getTrustManagers(), null);
    return context;
  }
}
