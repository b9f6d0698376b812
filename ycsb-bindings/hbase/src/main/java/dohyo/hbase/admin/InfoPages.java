package dohyo.hbase.admin;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.URI;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.SecurityUtil;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hbase.thirdparty.com.google.gson.JsonArray;
import org.apache.hbase.thirdparty.com.google.gson.JsonObject;
import org.apache.hbase.thirdparty.com.google.gson.JsonParser;

/** Reads the status pages of a server of HBase or Hadoop. */
final class InfoPages {
  private final String address;

  /**
   * Creates a reader of the pages. Does not connect yet.
   *
   * @param address such as http://127.0.0.1:16030
   */
  InfoPages(String address) {
    this.address = address;
  }

  /** Returns the conditions of the server's JVM: heap, jdk and gc. */
  Map<String, String> conditions() throws IOException {
    long heap = beans("java.lang:type=Memory").get(0).getAsJsonObject().getAsJsonObject("HeapMemoryUsage").get("max")
        .getAsLong();
    String jdk = runtime().getAsJsonArray("SystemProperties").asList().stream().map(JsonObject.class::cast)
        .filter(property -> property.get("key").getAsString().equals("java.runtime.version"))
        .map(property -> property.get("value").getAsString()).findAny().orElse("unknown");
    String collectors = beans("java.lang:type=GarbageCollector,name=*").asList().stream().map(JsonObject.class::cast)
        .map(collector -> collector.get("Name").getAsString()).sorted().collect(Collectors.joining(", "));
    return Map.of("heap", heap / (1 << 20) + " MiB", "jdk", jdk, "gc", collectors);
  }

  long pid() throws IOException {
    return Long.parseLong(runtime().get("Name").getAsString().split("@")[0]);
  }

  /** Returns the configuration of the running server. */
  Configuration configuration() throws IOException {
    Configuration running = new Configuration(false);
    running.addResource(get("conf"));
    return running;
  }

  /** Saves a page. Writes no file if this version lacks the page (/prometheus was added in 2.6). */
  void save(String page, Path file) throws IOException {
    try (InputStream in = get(page)) {
      Files.copy(in, file, StandardCopyOption.REPLACE_EXISTING);
    } catch (FileNotFoundException e) {
      Files.deleteIfExists(file);
    }
  }

  private JsonObject runtime() throws IOException {
    return beans("java.lang:type=Runtime").get(0).getAsJsonObject();
  }

  /** Returns the management beans that match a name or pattern. HBase and Hadoop serve them at /jmx. */
  JsonArray beans(String name) throws IOException {
    try (InputStream in = get("jmx?qry=" + name)) {
      String json = new String(in.readAllBytes(), StandardCharsets.UTF_8);
      return JsonParser.parseString(json).getAsJsonObject().getAsJsonArray("beans");
    }
  }

  InputStream get(String page) throws IOException {
    URL url = URI.create(address + "/" + page).toURL();
    // Java's own client sends the user's Kerberos ticket if the server requires it.
    try {
      return UserGroupInformation.isSecurityEnabled() ? SecurityUtil.doAsLoginUser(url::openStream) : url.openStream();
    } catch (ConnectException e) {
      throw new IOException("cannot read %s: %s".formatted(url, e.getMessage()), e); // Java's message lacks the address
    }
  }
}
