package dohyo.client;

import dohyo.binding.SettingException;
import java.io.IOException;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Properties;

/** Converts the command line to properties. The options are those of the stock client. */
final class Arguments {
  static final String USAGE = """
      Usage: java -cp 'BUNDLE/*' dohyo.client.Client -db BINDING [options]
        -db NAME          binding: its short name (cassandra) or class, or a DB class of stock YCSB
        -P FILE           properties file; may be repeated, later files override earlier ones
        -p KEY=VALUE      property; overrides those of the files
        -load | -t        load the records, or run the transactions (default)
        -threads N        threads (threadcount)
        -target N         operations per second over all threads (target)
        -s                print status lines to standard error
        -l LABEL          label in the status lines
        -help             print this text
      """;

  private Arguments() {
  }

  /**
   * Reads the command line.
   *
   * @param args arguments of the process
   * @return all properties; options and {@code -p} override properties from files
   * @throws SettingException if an option is unknown or incomplete, or a file cannot be read
   */
  static Properties parse(String... args) {
    Properties files = new Properties();
    Properties given = new Properties();
    for (int i = 0; i < args.length; i++) {
      String option = args[i];
      switch (option) {
        case "-threads" -> given.setProperty("threadcount", value(args, ++i));
        case "-target" -> given.setProperty("target", value(args, ++i));
        case "-db" -> given.setProperty("db", value(args, ++i));
        case "-l" -> given.setProperty("label", value(args, ++i));
        case "-P" -> read(value(args, ++i), files);
        case "-p" -> setProperty(value(args, ++i), given);
        case "-load" -> given.setProperty("dotransactions", "false");
        case "-t" -> given.setProperty("dotransactions", "true");
        case "-s" -> given.setProperty("status", "true");
        default -> throw new SettingException("unknown option " + option + "\n" + USAGE);
      }
    }
    Properties all = new Properties();
    all.putAll(files);
    all.putAll(given);
    return all;
  }

  private static String value(String[] args, int index) {
    if (index >= args.length) {
      throw new SettingException("option " + args[index - 1] + " needs a value\n" + USAGE);
    }
    return args[index];
  }

  private static void setProperty(String pair, Properties into) {
    int equals = pair.indexOf('=');
    if (equals < 1) {
      throw new SettingException("-p " + pair + ": must be KEY=VALUE");
    }
    into.setProperty(pair.substring(0, equals), pair.substring(equals + 1));
  }

  private static void read(String file, Properties into) {
    try (Reader reader = Files.newBufferedReader(Path.of(file), StandardCharsets.UTF_8)) {
      into.load(reader);
    } catch (NoSuchFileException e) {
      throw new SettingException("-P " + file + ": the file does not exist");
    } catch (IOException | IllegalArgumentException e) {
      throw new SettingException("-P " + file + ": cannot be read as a properties file: " + e.getMessage());
    }
  }
}
