package dohyo.hbase;

import dohyo.binding.Binding;
import dohyo.binding.Outcome;
import dohyo.binding.Settings;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Supplier;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.DoNotRetryIOException;
import org.apache.hadoop.hbase.HConstants;
import org.apache.hadoop.hbase.client.RetriesExhaustedException;

/**
 * Retries failed requests up to {@code retries} times within {@code operationtimeout}, and counts the retries. The
 * driver tries only once, because it does not count its retries. The pauses are the driver's defaults.
 */
final class Retries {
  private final int maxRetries;
  private final long timeoutMillis;
  private final long pauseMillis;
  private final LongAdder count = new LongAdder();

  Retries(Settings settings, Configuration configuration) {
    maxRetries = Binding.retries(settings);
    timeoutMillis = Binding.operationTimeout(settings);
    pauseMillis = configuration.getLong(HConstants.HBASE_CLIENT_PAUSE, HConstants.DEFAULT_HBASE_CLIENT_PAUSE);
  }

  /** Returns the number of retries so far. */
  long count() {
    return count.sum();
  }

  /** Starts counting the tries of one operation. */
  Tries begin() {
    return new Tries();
  }

  /** Returns the cause of a failure, without the driver's wrapper around the exception of its last attempt. */
  static Throwable cause(Throwable failure) {
    Throwable cause = Outcome.cause(failure);
    while (cause instanceof RetriesExhaustedException && cause.getCause() != null) {
      cause = Outcome.cause(cause.getCause());
    }
    return cause;
  }

  /** Tries of one operation. Only one thread at a time may use this object. */
  final class Tries {
    private final long begin = System.nanoTime();
    private int done;

    /** Returns whether a request may be retried after this failure. */
    boolean allow(Throwable failure) {
      Throwable cause = cause(failure);
      return done < maxRetries
          && !(cause instanceof DoNotRetryIOException) && !(cause instanceof IllegalArgumentException)
          && TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begin) + pause() < timeoutMillis;
    }

    private long pause() {
      return pauseMillis * HConstants.RETRY_BACKOFF[Math.min(done, HConstants.RETRY_BACKOFF.length - 1)];
    }

    /** Retries a request after a pause. */
    <T> CompletableFuture<T> retry(Supplier<CompletableFuture<T>> request) {
      long pause = pause();
      done++;
      count.increment();
      return CompletableFuture.supplyAsync(request, CompletableFuture.delayedExecutor(pause, TimeUnit.MILLISECONDS))
          .thenCompose(sent -> sent);
    }

    /** Sends a request, and retries it as often as allowed. */
    <T> CompletableFuture<T> send(Supplier<CompletableFuture<T>> request) {
      CompletableFuture<T> sent = request.get();
      return maxRetries == 0 ? sent : sent.exceptionallyCompose(failure -> allow(failure)
          ? retry(() -> send(request)) : CompletableFuture.failedFuture(failure));
    }
  }
}
