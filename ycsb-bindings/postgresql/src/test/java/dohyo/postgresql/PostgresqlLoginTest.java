package dohyo.postgresql;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dohyo.binding.Settings;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.sql.SQLException;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PostgresqlLoginTest {
  /** The second number of a client's first message is 3.0, the version of the protocol, or the code of SSLRequest. */
  @ParameterizedTest
  @CsvSource({"false, 196608", "true, 80877103"})
  void aConnectionIsEncryptedOnlyIfRequested(boolean encrypted, int code) throws IOException {
    try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      CompletableFuture<Integer> asked = CompletableFuture.supplyAsync(() -> {
        try (Socket client = server.accept()) {
          DataInputStream message = new DataInputStream(client.getInputStream());
          message.readInt();
          return message.readInt();
        } catch (IOException e) {
          throw new UncheckedIOException(e);
        }
      });
      Properties properties = new Properties();
      properties.setProperty("postgresql.url", "jdbc:postgresql://127.0.0.1:" + server.getLocalPort() + "/ycsb");
      properties.setProperty("postgresql.useSSL", "" + encrypted);
      assertThrows(SQLException.class, new PostgresqlLogin(new Settings(properties))::connect);
      assertEquals(code, asked.join());
    }
  }
}
