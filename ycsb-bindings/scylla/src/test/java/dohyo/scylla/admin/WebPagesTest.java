package dohyo.scylla.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests requests for pages that some versions do not have. */
class WebPagesTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(20);

  private HttpServer server;
  private WebPages pages;

  @BeforeEach
  void start() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    answer("/there", 200, "");
    answer("/broken", 500, "{\"message\": \"raft\", \"code\": 500}");
    // ScyllaDB 5.2.18 gives this answer for a path that it does not have.
    answer("/", 404, "{\"message\": \"Not found\", \"code\": 404}");
    server.start();
    pages = new WebPages("127.0.0.1:" + server.getAddress().getPort());
  }

  @AfterEach
  void stop() {
    server.stop(0);
  }

  private void answer(String path, int status, String body) {
    server.createContext(path, exchange -> {
      byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
      exchange.sendResponseHeaders(exchange.getRequestMethod().equals("POST") ? status : 405, bytes.length);
      exchange.getResponseBody().write(bytes);
      exchange.close();
    });
  }

  @Test
  void aPageMayBeMissing() throws IOException {
    assertTrue(pages.postIfKnown("/there", TIMEOUT));
    assertFalse(pages.postIfKnown("/storage_service/quiesce_topology", TIMEOUT));
  }

  @Test
  void otherFailuresAreNotHidden() {
    IOException broken = assertThrows(IOException.class, () -> pages.postIfKnown("/broken", TIMEOUT));
    assertTrue(broken.getMessage().contains("HTTP status 500"), broken.getMessage());
    IOException missing = assertThrows(IOException.class, () -> pages.post("/nowhere", TIMEOUT));
    assertTrue(missing.getMessage().contains("HTTP status 404"), missing.getMessage());
    assertEquals(IOException.class, assertThrows(IOException.class, () -> pages.get("/there")).getClass());
  }
}
