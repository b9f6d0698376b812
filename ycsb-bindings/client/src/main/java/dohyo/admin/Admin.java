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
 * Administers a running server for Ansible: creates tables, flushes them, reads statistics and so on. Each call starts
 * a short-lived JVM with the binding's driver, so that hosts need no database shell.
 *
 * <p>The command line is {@code java -cp BUNDLE/* CLASS VERB key=value…}. It prints JSON to standard output. After an
 * error it prints a line {@code ERROR: …} to standard error, and its exit code is 1.
 */
public final class Admin {
  /** Implementation of one verb. */
  @FunctionalInterface
  public interface Verb {
    /**
     * Runs the verb.
     *
     * @param arguments the arguments after the verb; see {@link Settings#required}
     * @return the result, which contains only JSON's types: maps, lists, numbers and texts
     * @throws Exception if the verb fails; the user sees the message
     */
    Map<String, ?> run(Settings arguments) throws Exception;
  }

  /**
   * Counts the rows of a table.
   *
   * @param <E> exception that the count throws if it fails
   */
  @FunctionalInterface
  public interface Counter<E extends Exception> {
    long count(String table) throws E;
  }

  private Admin() {
  }

  /**
   * Runs the verb that the command line names, and exits. Several verbs, as in {@code settle+stats}, run one after
   * another in the same JVM; only the result of the first is printed.
   *
   * @param server name of the product, for messages
   * @param verbs  implementation of each verb
   * @param args   the command line
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
      System.err.println("ERROR: " + server + ", verb " + name + ": " + reason(e));
      code = 1;
    }
    System.exit(code); // the driver's threads would delay the exit by some seconds
  }

  /**
   * Returns the folder into which a verb writes files. Creates it if it does not exist.
   *
   * @param arguments the arguments; {@code folder} is the path
   * @return the folder
   * @throws IOException if the folder cannot be created
   */
  public static Path folder(Settings arguments) throws IOException {
    return Files.createDirectories(Path.of(arguments.required("folder")));
  }

  /** Returns the names of the tables, from the argument {@code tables}. */
  public static List<String> tables(Settings arguments) {
    return List.of(arguments.required("tables").split(","));
  }

  /** Counts the rows of each table. Returns an empty map if {@code recordcount} exceeds {@code countlimit}. */
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
   * Reads the properties file whose path is the argument {@code key}. Without the argument, the result is empty.
   * Passwords are passed in a file, because all users of the host can read command lines.
   *
   * @throws SettingException if the file cannot be read
   */
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

  /** Reads a process id, the first word of the file whose path is the argument {@code key}. */
  public static long pid(Settings arguments, String key) throws IOException {
    return Long.parseLong(Files.readString(Path.of(arguments.required(key))).strip().split(" ")[0]);
  }

  /**
   * Returns the mark that a trial stores in its tables to recognize them later, if the database can store one.
   *
   * @param arguments the arguments; {@code trial} is the name of the trial
   * @return the mark
   */
  public static String mark(Settings arguments) {
    return "dohyo " + arguments.required("trial");
  }

  /**
   * Creates the exception for a table that exists without the trial's mark.
   *
   * @param what        subject of the message, such as {@code the table t}
   * @param alternative what the user can do instead of removing the table
   * @return the exception, for the caller to throw
   */
  public static IOException foreign(String what, String alternative) {
    return new IOException(what + " was not made by this trial; " + alternative + ", or remove it");
  }

  /**
   * Returns the message of an exception. Adds its class if it has no message, or if it belongs to java.lang. Without
   * the class, messages such as "Index 3 out of bounds" are unclear.
   */
  private static String reason(Exception e) {
    boolean isClear = e.getMessage() != null && !e.getClass().getPackageName().equals("java.lang");
    return isClear ? e.getMessage() : e.toString();
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
