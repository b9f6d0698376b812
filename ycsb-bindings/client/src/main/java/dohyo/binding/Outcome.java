package dohyo.binding;

import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import site.ycsb.Status;

/** Statuses of failed requests, and helpers for statuses. */
public final class Outcome {
  /** Status of a request that was not answered within {@code operationtimeout}. */
  public static final Status TIMEOUT =
      new Status("TIMEOUT", "no answer within operationtimeout; the driver's own timeouts are longer");

  private Outcome() {
  }

  /**
   * Converts the driver's exception to a status. The status is named after the exception's class, so that results count
   * each kind of error separately. {@code WriteTimeoutException} becomes {@code WRITE_TIMEOUT}.
   *
   * @param error exception from the driver; wrappers of {@code java.util.concurrent} are removed
   * @return a status with that name and the exception's message
   */
  public static Status of(Throwable error) {
    Throwable cause = cause(error);
    String name = cause.getClass().getSimpleName().replaceAll("(Exception|Error)$", "")
        .replaceAll("([a-z0-9])([A-Z])", "$1_$2").toUpperCase(Locale.ROOT);
    return new Status(name.isEmpty() ? "ERROR" : name, String.valueOf(cause.getMessage()));
  }

  /** Returns the driver's exception without the wrappers of {@code java.util.concurrent}. */
  public static Throwable cause(Throwable error) {
    Throwable cause = error;
    while ((cause instanceof CompletionException || cause instanceof ExecutionException) && cause.getCause() != null) {
      cause = cause.getCause();
    }
    return cause;
  }

  /** Returns whether the status is an error: neither a success nor NOT_FOUND. */
  public static boolean isError(Status status) {
    return !status.isOk() && !isNotFound(status);
  }

  public static boolean isNotFound(Status status) {
    return Status.NOT_FOUND.getName().equals(status.getName());
  }

  /** Returns an array with the same status for each of {@code count} records. */
  public static Status[] each(Status status, int count) {
    Status[] all = new Status[count];
    Arrays.fill(all, status);
    return all;
  }
}
