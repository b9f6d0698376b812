package dohyo.scylla.admin;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;

/** Reads HTTP pages of a node. */
final class WebPages {
  private static final Duration TIMEOUT = Duration.ofSeconds(60);

  private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1)
      .connectTimeout(TIMEOUT).build();
  private final String server;

  /** Creates a reader of the pages at this host:port. */
  WebPages(String place) {
    server = "http://" + place;
  }

  /**
   * Reads a page.
   *
   * @throws IOException if the page cannot be read within 60 s, or its status is not 200
   */
  String get(String path) throws IOException {
    HttpRequest request = request(path).timeout(TIMEOUT).GET().build();
    return body(request, answer(request));
  }

  /**
   * Posts a request without a body.
   *
   * @param timeout time limit of the request
   * @return the body of the answer
   * @throws IOException if the request fails
   */
  String post(String path, Duration timeout) throws IOException {
    HttpRequest request = posted(path, timeout);
    return body(request, answer(request));
  }

  /**
   * Posts a request without a body if the server has the page.
   *
   * @param timeout time limit of the request
   * @return whether the server has the page
   * @throws IOException if the request fails
   */
  boolean postIfKnown(String path, Duration timeout) throws IOException {
    HttpRequest request = posted(path, timeout);
    HttpResponse<String> answer = answer(request);
    return answer.statusCode() != 404 && body(request, answer) != null;
  }

  private HttpRequest posted(String path, Duration timeout) {
    return request(path).timeout(timeout).POST(HttpRequest.BodyPublishers.noBody()).build();
  }

  private HttpRequest.Builder request(String path) {
    return HttpRequest.newBuilder(URI.create(server + path));
  }

  private HttpResponse<String> answer(HttpRequest request) throws IOException {
    try {
      return client.send(request, HttpResponse.BodyHandlers.ofString());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw (IOException) new InterruptedIOException("interrupted").initCause(e);
    } catch (IOException e) {
      throw new IOException(request.method() + " " + request.uri() + ": " + e, e);
    }
  }

  private static String body(HttpRequest request, HttpResponse<String> answer) throws IOException {
    if (answer.statusCode() != 200) {
      throw new IOException(request.method() + " " + request.uri() + ": HTTP status " + answer.statusCode() + ": "
          + answer.body());
    }
    return answer.body();
  }
}
