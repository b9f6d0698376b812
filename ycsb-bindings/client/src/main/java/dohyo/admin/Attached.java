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
 * Administration of a cluster that is somebody else's: one place of our own (a keyspace, a database, …) is made,
 * filled and removed, and nothing outside it is written. Arguments of all verbs: {@code place}, its name, and {@code
 * made}, a file of this host that is there from just before the place is made until it is removed; its first line is a
 * part of the mark.
 */
public interface Attached extends AutoCloseable {
  /** The argument that {@link #verbs} adds: it distinguishes the marks of runs whose trials have the same name. */
  String NONCE = "nonce";

  /** The value of a condition that cannot be read. */
  String UNKNOWN = "not known";

  /** Connects. */
  @FunctionalInterface
  interface Opening {
    Attached with(Settings arguments) throws Exception;
  }

  /** The place and where it is, for messages: {@code the keyspace k on h}. */
  String what();

  /** Whether the place exists, whoever made it. */
  boolean exists() throws Exception;

  /**
   * Makes the place.
   *
   * @return false if somebody has made it meanwhile; then it is theirs
   */
  boolean make() throws Exception;

  /** Makes the tables in the place, with the trial's mark. */
  void createTables() throws Exception;

  /** Names of everything in the place without the trial's mark. */
  List<String> foreign() throws Exception;

  /**
   * Removes the place with everything in it.
   *
   * @return what the server may have kept, and how to remove it; "" for nothing
   */
  String remove() throws Exception;

  /** The conditions as far as they can be read; others are {@link #UNKNOWN}. */
  Map<String, Object> conditions() throws Exception;

  /** Rows by table; see {@link Admin#countRows}. */
  Map<String, Long> countRows() throws Exception;

  /**
   * Writes to disk, and compacts, what is in the place; nothing if the protocol has no request for that.
   *
   * @return whether it was done
   */
  default boolean flush() throws Exception {
    return false;
  }

  /**
   * What the servers count of their own work, that for others included, by the part of a file's name; figures.yml of
   * the system says what it means. Nothing of what others ask or store.
   */
  default Map<String, List<String>> statistics() throws Exception {
    return Map.of();
  }

  /** One small read that changes nothing, for its latency. */
  void ping() throws Exception;

  /** Permissions that a run needs and the account lacks, as far as they can be read without a change to the server. */
  List<String> missingRights() throws Exception;

  /** Milliseconds since 1970 by the server's clock; negative if it does not say. */
  default long clock() throws Exception {
    return -1;
  }

  @Override
  void close() throws IOException;

  /** The verbs schema, settle, count, stats, remove and doctor. */
  static Map<String, Admin.Verb> verbs(Opening opening) {
    return Map.of(
        "schema", arguments -> answer(opening, arguments, AttachedVerbs::schema),
        "settle", arguments -> answer(opening, arguments, AttachedVerbs::settle),
        "count", arguments -> answer(opening, arguments, (of, any) -> Map.of("rows", of.countRows())),
        "stats", arguments -> answer(opening, arguments, AttachedVerbs::stats),
        // Without the file nothing was made, and the server need not be asked.
        "remove", arguments -> Files.exists(made(arguments)) ? answer(opening, arguments, AttachedVerbs::remove)
            : Map.of("removed", false),
        "doctor", arguments -> answer(opening, arguments, AttachedVerbs::doctor));
  }

  /** The file that says that the place may have been made. */
  static Path made(Settings arguments) {
    return Path.of(arguments.required("made"));
  }

  private static Map<String, ?> answer(Opening opening, Settings arguments, AttachedVerbs.Work work) throws Exception {
    // The name of a trial follows from the path of its evidence, which another machine may have, too.
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

  /** A message, which becomes evidence: without a server's stack, and with a property's name in place of who we are. */
  private static String anonymous(String message, Settings access) {
    String said = message.lines().takeWhile(line -> !line.startsWith("\tat ")).collect(Collectors.joining("\n"));
    for (String key : access.properties().stringPropertyNames()) {
      if (key.matches("(.*[.])?(user|username|password)|principal") && access.has(key)) {
        said = without(said, access.required(key), key);
        if (key.equals("principal")) {
          said = without(said, access.required(key).split("[/@]")[0], key); // as Hadoop calls its user
        }
      }
    }
    return said;
  }

  private static String without(String message, String word, String key) {
    return message.replaceAll("(?<!\\w)" + Pattern.quote(word) + "(?!\\w)", Matcher.quoteReplacement("(" + key + ")"));
  }

  /** The error for a place that is there. */
  static IOException taken(Attached attached) {
    return new IOException(attached.what() + " exists, and this run has not made it; nothing was written."
        + " Measure again, which takes a new name, or remove it yourself if it is left from a run of yours");
  }
}
