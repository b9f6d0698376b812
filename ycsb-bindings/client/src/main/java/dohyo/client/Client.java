package dohyo.client;

import dohyo.binding.SettingException;
import dohyo.binding.Settings;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import site.ycsb.DBException;

/**
 * The benchmark client. It checks the properties, connects all threads, reports that it is ready, and waits for the
 * agreed start. Then it warms up, measures, waits for open operations, and prints the results. Its options and result
 * lines are those of {@code site.ycsb.Client}. It also has exit codes for runs that failed: {@link
 * #BAD_INPUT}, {@link #NOT_CONNECTED}, {@link #INVALID} and {@link #DATABASE_FAILED}.
 */
public final class Client {
  /** Exit code of an error inside the client. */
  public static final int INTERNAL = 1;
  /** Exit code of an invalid option or property. The client has started nothing. */
  public static final int BAD_INPUT = 2;
  /** Exit code of a client in which a thread could not connect. */
  public static final int NOT_CONNECTED = 3;
  /** Exit code of a run that has ended but does not count. */
  public static final int INVALID = 4;
  /** Exit code of a run in which too many records failed or operations stopped succeeding. This counts as a result. */
  public static final int DATABASE_FAILED = 5;

  /** Seconds for which the shutdown hook waits for the results of a run aborted by a signal. */
  private static final long SHUTDOWN_SECONDS = 10;

  private final Run run;
  private final PrintStream results;
  private final PrintStream messages;
  private final Abort abort = new Abort();
  private final Instant launched = Instant.now();

  private Client(Run run, PrintStream results, PrintStream messages) {
    this.run = run;
    this.results = results;
    this.messages = messages;
  }

  /**
   * Runs the client and ends the process with its exit code.
   *
   * @param args see {@link Arguments#USAGE}
   */
  public static void main(String[] args) {
    if (List.of(args).contains("-help")) {
      System.out.print(Arguments.USAGE);
      System.exit(0);
    }
    System.err.println("Command line: " + String.join(" ", args));
    CountDownLatch finished = new CountDownLatch(1);
    Abort[] abort = new Abort[1];
    Runtime.getRuntime().addShutdownHook(new Thread(() -> {
      // After a signal, abort the run and let it write its results before the process ends.
      if (abort[0] != null) {
        abort[0].set("interrupted by a signal");
        try {
          finished.await(SHUTDOWN_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
        }
      }
    }));
    int exit = run(args, System.out, System.err, abort);
    System.out.flush();
    abort[0] = null;
    finished.countDown();
    System.exit(exit);
  }

  /**
   * Runs the client within the calling process.
   *
   * @param args     the command line
   * @param results  receives the result lines
   * @param messages receives status lines and the error
   * @param abort    receives the run's {@link Abort} as its first element when the run has been created
   * @return the exit code
   */
  static int run(String[] args, PrintStream results, PrintStream messages, Abort[] abort) {
    return reported(messages, () -> {
      Properties properties = Arguments.parse(args);
      Settings settings = new Settings(properties);
      Results.percentiles(settings);
      Client client = new Client(Run.of(settings), results, messages);
      abort[0] = client.abort;
      return client.perform();
    });
  }

  /** A part of a client's work, which returns an exit code. */
  private interface Work {
    int perform() throws DBException, RunInvalidException, IOException, InterruptedException;
  }

  /** Performs work and returns the exit code. Writes a failure to {@code messages}. */
  private static int reported(PrintStream messages, Work work) {
    try {
      return work.perform();
    } catch (SettingException e) {
      return fail(messages, BAD_INPUT, e.getMessage());
    } catch (DBException e) {
      return fail(messages, NOT_CONNECTED, e.getMessage());
    } catch (RunInvalidException e) {
      return fail(messages, INVALID, e.getMessage());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return fail(messages, INTERNAL, "interrupted");
    } catch (OutOfMemoryError e) {
      return fail(messages, INTERNAL, "out of memory: " + e.getMessage()
          + "; raise client_heap, or lower threadcount, inflight or batchsize");
    } catch (IOException | RuntimeException e) {
      e.printStackTrace(messages);
      return fail(messages, INTERNAL, e.toString());
    }
  }

  static int fail(PrintStream messages, int exit, String message) {
    messages.println("ERROR: " + message);
    messages.flush();
    return exit;
  }

  private int perform() throws DBException, RunInvalidException, IOException, InterruptedException {
    StartGate gate = new StartGate(run.settings());
    Measurement measurement = new Measurement(run, abort, gate, run.steady(), run.warmupSeconds(), results, messages);
    Workers workers = new Workers(run, abort);
    try {
      workers.connect();
      double connectSeconds = Duration.between(launched, Instant.now()).toNanos() / 1e9;
      messages.println("Starting test.");
      int exit = measurement.perform(workers, connectSeconds, run.windows() == 1);
      for (int window = 2; exit == 0 && window <= run.windows(); window++) {
        gate = gate.next(abort::isSet);
        if (gate == null) {
          throw new RunInvalidException(abort.reason());
        }
        run.continueIn(gate.folder());
        try (PrintStream out = log(gate, "result.txt"); PrintStream err = log(gate, "status.txt")) {
          Measurement further = new Measurement(run, abort, gate, false, run.warmupAgainSeconds(), out, err);
          boolean last = window == run.windows();
          exit = reported(err, () -> further.perform(workers, connectSeconds, last));
        }
      }
      return exit;
    } finally {
      workers.close();
    }
  }

  private static PrintStream log(StartGate gate, String name) throws IOException {
    return new PrintStream(Files.newOutputStream(gate.folder().resolve(name)), true, StandardCharsets.UTF_8);
  }
}
