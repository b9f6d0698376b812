package dohyo.postgresql;

import dohyo.binding.Tls;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.util.Base64;
import org.postgresql.ssl.WrappedFactory;

/** TLS factory that trusts only the given certificates. The driver creates it from the class name. */
public final class Authority extends WrappedFactory {
  /**
   * Reads the certificates.
   *
   * @param certificates PEM in Base64
   * @throws GeneralSecurityException if there is no certificate
   * @throws IOException              if the certificates cannot be read
   */
  public Authority(String certificates) throws GeneralSecurityException, IOException {
    factory = Tls.trusting(new ByteArrayInputStream(Base64.getDecoder().decode(certificates))).getSocketFactory();
  }
}
