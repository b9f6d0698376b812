package dohyo.cassandra;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.datastax.driver.core.Cluster;
import com.datastax.driver.core.exceptions.NoHostAvailableException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import org.junit.jupiter.api.Test;

class ConnectFailureTest {
  @Test
  void aClosedPortIsNamedWithoutTheClassesOfTheDriver() throws IOException {
    int port;
    try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = free.getLocalPort();
    }
    Cluster.Builder driver = Cluster.builder().addContactPoint("127.0.0.1").withPort(port).withoutJMXReporting();
    try (Cluster cluster = driver.build()) {
      String reason = Access.reason(assertThrows(NoHostAvailableException.class, cluster::connect));
      // Netty's text differs between its native transport and that of Java.
      assertEquals("/127.0.0.1:" + port + ": Connection refused",
          reason.replaceFirst("finishConnect.*: Connection", "Connection"));
    }
  }
}
