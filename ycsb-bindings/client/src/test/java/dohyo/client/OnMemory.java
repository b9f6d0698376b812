package dohyo.client;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.codehaus.jackson.JsonNode;
import org.codehaus.jackson.map.ObjectMapper;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.io.TempDir;

/** Runs the whole client in this process on the test's own store, and captures the client's output. */
abstract class OnMemory {
  @TempDir
  Path folder;
  String store;
  String out;
  String err;

  /** Returns the value of {@code client.loop}. A subclass may override it, to run all tests with another value. */
  String loop() {
    return "threads";
  }

  @BeforeEach
  void ownStore(TestInfo test) {
    store = test.getDisplayName() + System.nanoTime();
  }

  @AfterEach
  void forgetStore() {
    MemoryBinding.forget(store);
  }

  int client(String... options) {
    return client(new Abort[1], options);
  }

  int client(Abort[] abort, String... options) {
    List<String> args = new ArrayList<>(List.of("-db", MemoryBinding.class.getName(), "-p", "memory.store=" + store,
        "-p", "recordcount=1000", "-p", "client.loop=" + loop(), "-p",
        "client.summary=" + folder.resolve("client.json")));
    args.addAll(List.of(options));
    ByteArrayOutputStream results = new ByteArrayOutputStream();
    ByteArrayOutputStream messages = new ByteArrayOutputStream();
    int exit = Client.run(args.toArray(String[]::new), new PrintStream(results, true, StandardCharsets.UTF_8),
        new PrintStream(messages, true, StandardCharsets.UTF_8), abort);
    out = results.toString(StandardCharsets.UTF_8);
    err = messages.toString(StandardCharsets.UTF_8);
    return exit;
  }

  long line(String metric, String measurement) {
    Matcher found = Pattern.compile(Pattern.quote("[" + metric + "], " + measurement + ", ") + "(\\d+)").matcher(out);
    assertTrue(found.find(), metric + " " + measurement + " is missing in:\n" + out);
    return Long.parseLong(found.group(1));
  }

  JsonNode summary() throws IOException {
    return new ObjectMapper().readTree(folder.resolve("client.json").toFile());
  }

  static String[] concat(String[] first, String... then) {
    return Stream.concat(Stream.of(first), Stream.of(then)).toArray(String[]::new);
  }
}
