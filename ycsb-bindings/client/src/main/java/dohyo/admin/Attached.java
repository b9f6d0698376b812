package dohyo.admin;

import dohyo.binding.Settings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Administers a cluster that Dohyo did not start. A trial creates one <em>place</em> in the cluster (a keyspace, a
 * database, …), fills the place and removes it. The trial writes nothing outside the place.
 *
 * <p>All verbs have the arguments {@code place}, the place's name, and {@code made}, the path of a file on this host.
 * The file is created just before the place, and removed after it. The file's first line is part of the mark.
 */
public interface Attached extends AutoCloseable {
  /**
   * Name of the argument that {@link #verbs} adds. Its value makes the mark unique, because trials on different
   * machines may have the same name.
   */
  String NONCE = "nonce";

  /** Value of a condition that cannot be read. */
  String UNKNOWN = "not known";

  /** Connects to a cluster. */
  @FunctionalInterface
  interface Opening {
    Attached with(Settings arguments) throws Exception;
  }

  /** Returns the place and its server for messages, such as {@code the keyspace k on h}. */
  String what();

  /** Returns whether the place exists, no matter who created it. */
  boolean exists() throws Exception;

  /**
   * Creates the place.
   *
   * @return false if another program has just created it
   */
  boolean make() throws Exception;

  /** Creates the tables in the place, with the trial's mark. */
  void createTables() throws Exception;

  /** Returns the names of all objects in the place that lack the trial's mark. */
  List<String> foreign() throws Exception;

  /**
   * Removes the place with all its contents.
   *
   * @return what the server may keep, and how to remove it; empty if nothing is left
   */
  String remove() throws Exception;

  /** Returns the conditions. The value of a condition that cannot be read is {@link #UNKNOWN}. */
  Map<String, Object> conditions() throws Exception;

  /** Returns the number of rows of each table, see {@link Admin#countRows}. */
  Map<String, Long> countRows() throws Exception;

  /**
   * Flushes the place to disk and compacts it, if the protocol has requests for that.
   *
   * @return whether the place was flushed
   */
  default boolean flush() throws Exception {
    return false;
  }

  /**
   * Returns the lines of each file of statistics; the keys are parts of the files' names. The statistics also count the
   * work for other users, but contain none of their requests or data. The system's figures.yml explains the statistics.
   */
  default Map<String, List<String>> statistics() throws Exception {
    return Map.of();
  }

  /** Sends one small read that changes nothing, to measure its latency. */
  void ping() throws Exception;

  /**
   * Returns the permissions that a run needs and the account lacks, as far as they can be determined without changing
   * the server.
   */
  List<String> missingRights() throws Exception;

  /** Returns the server's clock in milliseconds since 1970; negative if the protocol has no request for it. */
  default long clock() throws Exception {
    return -1;
  }

  @Override
  void close() throws IOException;

  /** Returns the verbs schema, settle, count, stats, remove and doctor. */
  static Map<String, Admin.Verb> verbs(Opening opening) {
    return Map.of(
        "schema", arguments -> answer(opening, arguments, AttachedVerbs::schema),
        "settle", arguments -> answer(opening, arguments, AttachedVerbs::settle),
        "count", arguments -> answer(opening, arguments, (of, any) -> Map.of("rows", of.countRows())),
        "stats", arguments -> answer(opening, arguments, AttachedVerbs::stats),
        // Without the file in the argument made, no place was created: remove has nothing to do and need not connect.
        "remove", arguments -> Files.exists(made(arguments)) ? answer(opening, arguments, AttachedVerbs::remove)
            : Map.of("removed", false),
        "doctor", arguments -> answer(opening, arguments, AttachedVerbs::doctor));
  }

  /** Returns the path of the file that exists if the place may have been created. */
  static Path made(Settings arguments) {
    return Path.of(arguments.required("made"));
  }

  private static Map<String, ?> answer(Opening opening, Settings arguments, AttachedVerbs.Work work) throws Exception {
    // A trial's name comes from the path of its evidence, and another machine may use the same path. The nonce makes
    // the mark unique.
    Path made = made(arguments);
    String nonce = Files.exists(made) ? Files.readString(made).lines().findFirst().orElse("") : "";
    arguments.properties().setProperty(NONCE, nonce.isEmpty() ? UUID.randomUUID().toString() : nonce);
    arguments.properties().setProperty("trial", arguments.required("trial") + " " + arguments.required(NONCE));
    try (Attached attached = opening.with(arguments)) {
      return work.on(attached, arguments);
    } catch (Exception e) {
      String said = anonymous(e.toString(), Admin.properties(arguments, "connection"));
      throw said.equals(e.toString()) ? e : new IOException(said, e);
    }
  }

  /**
   * Returns the message without a server's stack trace. Replaces user names and passwords with the names of their
   * properties, because messages are stored in the evidence.
   */
  private static String anonymous(String message, Settings access) {
    String said = message.lines().takeWhile(line -> !line.startsWith("\tat ")).collect(Collectors.joining("\n"));
    for (String key : access.properties().stringPropertyNames()) {
      if (key.matches("(.*[.])?(user|username|password)|principal") && access.has(key)) {
        said = without(said, access.required(key), key);
        if (key.equals("principal")) {
          said = without(said, access.required(key).split("[/@]")[0], key); // short user name, as Hadoop prints it
        }
      }
    }
    return said;
  }

  private static String without(String message, String word, String key) {
    return message.replaceAll("(?<!\\w)" + Pattern.quote(word) + "(?!\\w)", Matcher.quoteReplacement("(" + key + ")"));
  }

  /** Creates the exception for a place that already exists before the trial creates it. */
  static IOException taken(Attached attached) {
    return new IOException(attached.what() + " exists, but this run did not create it;"
        + " measure again (under a new name), or remove it");
  }
}
