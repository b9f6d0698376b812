package dohyo.admin;

import dohyo.binding.SettingException;
import dohyo.binding.Settings;
import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.codehaus.jackson.map.ObjectMapper;

/**
 * Administration of a running server by Ansible (schema, settle, stats, …): one short-lived JVM per verb, with the
 * binding's driver, so that hosts need no shell of any database.
 *
 * <p>Called as {@code java -cp BUNDLE/* CLASS VERB key=value…}; answers with JSON on standard output, or with one line
 * {@code ERROR: …} on standard error and exit code 1.
 */
public final class Admin {
  /** One verb. */
  @FunctionalInterface
  public interface Verb {
    /**
     * Runs the verb.
     *
     * @param arguments those that follow the verb; see {@link Settings#required}
     * @return the answer, of types that JSON has: maps, lists, numbers, texts
     * @throws Exception if it fails; the message is shown to the user
     */
    Map<String, ?> run(Settings arguments) throws Exception;
  }

  /** Counts the rows of a table. */
  @FunctionalInterface
  public interface Counter<E extends Exception> {
    long count(String table) throws E;
  }

  private Admin() {
  }

  /**
   * Runs the verb that the command line names, and exits. Several, as in {@code settle+stats}, share one JVM; the
   * answer is the first one's.
   *
   * @param server name of the product, for messages
   * @param verbs  the verbs by their names
   * @param args  the command line
   */
  public static void main(String server, Map<String, Verb> verbs, String[] args) {
    String name = args.length == 0 ? "" : args[0];
    int code = 0;
    try {
      List<String> names = List.of(name.split("\\+"));
      if (!verbs.keySet().containsAll(names)) {
        throw new IllegalArgumentException("unknown verb; the verbs are " + String.join(", ", verbs.keySet()));
      }
      List<Map<String, ?>> answers = new ArrayList<>();
      for (String each : names) {
        answers.add(verbs.get(each).run(arguments(args)));
      }
      System.out.println(new ObjectMapper().writeValueAsString(answers.get(0)));
    } catch (Exception e) {
      System.err.println("ERROR: " + server + ", verb " + name + ": " + e);
      code = 1;
    }
    System.exit(code); // a driver's threads would keep the JVM a few seconds longer
  }

  /**
   * The folder into which a verb writes files; created if it does not exist.
   *
   * @param arguments have its path as {@code folder}
   * @return the folder
   * @throws IOException if it cannot be made
   */
  public static Path folder(Settings arguments) throws IOException {
    return Files.createDirectories(Path.of(arguments.required("folder")));
  }

  /** The tables' names: the argument {@code tables}. */
  public static List<String> tables(Settings arguments) {
    return List.of(arguments.required("tables").split(","));
  }

  /** Counts the rows of each table; of none if {@code recordcount} is above {@code countlimit}. */
  public static <E extends Exception> Map<String, Long> countRows(Settings arguments, Counter<E> counter) throws E {
    Map<String, Long> rows = new LinkedHashMap<>();
    if (arguments.whole("recordcount", 0, 0, Long.MAX_VALUE) <= arguments.whole("countlimit", 0, 0, Long.MAX_VALUE)) {
      for (String table : tables(arguments)) {
        rows.put(table, counter.count(table));
      }
    }
    return rows;
  }

  /** The properties in the file that an argument names: a command line would show passwords. Empty without it. */
  public static Settings properties(Settings arguments, String key) {
    Properties properties = new Properties();
    if (arguments.has(key)) {
      try (Reader reader = Files.newBufferedReader(Path.of(arguments.required(key)))) {
        properties.load(reader);
      } catch (IOException e) {
        throw new SettingException(key + "=" + arguments.required(key) + ": cannot be read: " + e);
      }
    }
    return new Settings(properties);
  }

  /** The process id at the beginning of the file that an argument names. */
  public static long pid(Settings arguments, String key) throws IOException {
    return Long.parseLong(Files.readString(Path.of(arguments.required(key))).strip().split(" ")[0]);
  }

  /**
   * The mark of a trial's tables, for databases that can store one: the trial recognizes its tables by it.
   *
   * @param arguments have it as {@code trial}
   * @return the mark
   */
  public static String mark(Settings arguments) {
    return "dohyo " + arguments.required("trial");
  }

  /**
   * The error for a table that exists and does not have the trial's mark.
   *
   * @param what   the thing, as the beginning of a sentence: {@code the table t, which}
   * @param alternative what the user can do instead of removing it
   * @return the error, to be thrown
   */
  public static IOException foreign(String what, String alternative) {
    return new IOException(what + " was not made by this trial; nothing is written to it: " + alternative
        + ", or remove it yourself");
  }

  private static Settings arguments(String[] args) {
    Properties arguments = new Properties();
    for (int i = 1; i < args.length; i++) {
      String[] pair = args[i].split("=", 2);
      if (pair.length < 2) {
        throw new IllegalArgumentException("argument " + args[i] + ": must read key=value");
      }
      arguments.setProperty(pair[0], pair[1]);
    }
    return new Settings(arguments);
  }
}
