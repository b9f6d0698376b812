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
 * What Ansible asks of a running server (schema, settle, stats, …), in one short-lived JVM per verb, with the driver
 * that the binding brings anyway: so no shell of any database is needed on the hosts.
 *
 * <p>Called as {@code java -cp BUNDLE/* CLASS VERB key=value…}; answers with JSON on standard output, or with one line
 * {@code ERROR: …} on standard error and exit code 1.
 */
public final class Admin {
  /** One verb. */
  @FunctionalInterface
  public interface Verb {
    /**
     * Does it.
     *
     * @param arguments what stands behind the verb; see {@link Settings#required}
     * @return the answer, which must be what JSON knows: maps, lists, numbers, texts
     * @throws Exception if it cannot be done; the message is shown to the user
     */
    Map<String, ?> run(Settings arguments) throws Exception;
  }

  /**
   * Counts the rows of a table.
   *
   * @param <E> what is thrown if that fails
   */
  @FunctionalInterface
  public interface Counter<E extends Exception> {
    long count(String table) throws E;
  }

  private Admin() {
  }

  /**
   * Runs the verb that the command line names, and ends the JVM. Of several, as in {@code settle+stats}, which save the
   * start of a JVM each, the first one answers.
   *
   * @param server name of the product, for messages
   * @param verbs  the verbs by their names
   * @param words  the command line
   */
  public static void main(String server, Map<String, Verb> verbs, String[] words) {
    String name = words.length == 0 ? "" : words[0];
    int code = 0;
    try {
      List<String> names = List.of(name.split("\\+"));
      if (!verbs.keySet().containsAll(names)) {
        throw new IllegalArgumentException("there is none of that name, only " + String.join(", ", verbs.keySet()));
      }
      List<Map<String, ?>> answers = new ArrayList<>();
      for (String each : names) {
        answers.add(verbs.get(each).run(arguments(words)));
      }
      System.out.println(new ObjectMapper().writeValueAsString(answers.get(0)));
    } catch (Exception e) {
      System.err.println("ERROR: " + server + ", verb " + name + ": " + e);
      code = 1;
    }
    System.exit(code); // a driver's threads would keep the JVM a few seconds longer
  }

  /**
   * The folder into which a verb writes files; made where it is not there.
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

  /** Counts the rows of each table; of none where {@code recordcount} is above {@code countlimit}. */
  public static <E extends Exception> Map<String, Long> countRows(Settings arguments, Counter<E> counter) throws E {
    Map<String, Long> rows = new LinkedHashMap<>();
    if (arguments.whole("recordcount", 0, 0, Long.MAX_VALUE) <= arguments.whole("countlimit", 0, 0, Long.MAX_VALUE)) {
      for (String table : tables(arguments)) {
        rows.put(table, counter.count(table));
      }
    }
    return rows;
  }

  /**
   * Reads a file of properties: a command line would show the password in them.
   *
   * @param file the argument that has the file's name; without it there are no properties
   * @throws SettingException if the file cannot be read
   */
  public static Settings properties(Settings arguments, String file) {
    Properties properties = new Properties();
    if (arguments.has(file)) {
      try (Reader reader = Files.newBufferedReader(Path.of(arguments.required(file)))) {
        properties.load(reader);
      } catch (IOException e) {
        throw new SettingException(file + "=" + arguments.required(file) + ": cannot be read: " + e);
      }
    }
    return new Settings(properties);
  }

  /**
   * Reads a server's process id.
   *
   * @param file the argument that has the name of a file that begins with it
   */
  public static long pid(Settings arguments, String file) throws IOException {
    return Long.parseLong(Files.readString(Path.of(arguments.required(file))).strip().split(" ")[0]);
  }

  /**
   * What a table carries that a trial has made, as far as the database has a place for it: a name by which the trial
   * finds it again.
   *
   * @param arguments have it as {@code trial}
   * @return the mark
   */
  public static String mark(Settings arguments) {
    return "dohyo " + arguments.required("trial");
  }

  /**
   * The refusal to take for a trial's own what does not carry its mark.
   *
   * @param what   it is, as the beginning of a sentence: {@code the table t, which}
   * @param wayOut what the user can do instead of removing it
   * @return the error, to be thrown
   */
  public static IOException foreign(String what, String wayOut) {
    return new IOException(what + " was not made by this trial; nothing is written to it: " + wayOut
        + ", or remove it yourself");
  }

  private static Settings arguments(String[] words) {
    Properties arguments = new Properties();
    for (int i = 1; i < words.length; i++) {
      String[] pair = words[i].split("=", 2);
      if (pair.length < 2) {
        throw new IllegalArgumentException("argument " + words[i] + ": must read key=value");
      }
      arguments.setProperty(pair[0], pair[1]);
    }
    return new Settings(arguments);
  }
}
