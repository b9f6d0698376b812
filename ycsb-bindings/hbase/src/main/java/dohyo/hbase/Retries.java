package dohyo.hbase;

import dohyo.binding.Binding;
import dohyo.binding.Settings;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Supplier;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.DoNotRetryIOException;
import org.apache.hadoop.hbase.HConstants;
import org.apache.hadoop.hbase.client.RetriesExhaustedException;

/**
 * Sends requests again that have failed, as often as {@code retries} allows and before {@code operationtimeout} is
 * over, and counts them. The driver does not count its retries, so it makes a single try. The pauses are those of the
 * driver.
 */
final class Retries {
  private final int most;
  private final long timeoutMillis;
  private final long pauseMillis;
  private final LongAdder count = new LongAdder();

  Retries(Settings settings, Configuration configuration) {
    most = Binding.retries(settings);
    timeoutMillis = Binding.operationTimeout(settings);
    pauseMillis = configuration.getLong(HConstants.HBASE_CLIENT_PAUSE, HConstants.DEFAULT_HBASE_CLIENT_PAUSE);
  }

  /** How many requests were sent again. */
  long count() {
    return count.sum();
  }

  /** The tries of one operation. */
  Tries begin() {
    return new Tries();
  }

  /** What the driver's exceptions are about: it wraps the last one of however many tries. */
  static Throwable cause(Throwable failure) {
    Throwable cause = failure;
    while ((cause instanceof CompletionException || cause instanceof RetriesExhaustedException)
        && cause.getCause() != null) {
      cause = cause.getCause();
    }
    return cause;
  }

  /** How often one operation was sent again; one thread at a time. */
  final class Tries {
    private final long begin = System.nanoTime();
    private int done;

    /** Whether what has failed so may be sent again. */
    boolean allow(Throwable failure) {
      Throwable cause = cause(failure);
      return done < most && !(cause instanceof DoNotRetryIOException) && !(cause instanceof IllegalArgumentException)
          && TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begin) + pause() < timeoutMillis;
    }

    private long pause() {
      return pauseMillis * HConstants.RETRY_BACKOFF[Math.min(done, HConstants.RETRY_BACKOFF.length - 1)];
    }

    /** Sends again after a pause. */
    <T> CompletableFuture<T> again(Supplier<CompletableFuture<T>> request) {
      long pause = pause();
      done++;
      count.increment();
      return CompletableFuture.supplyAsync(request, CompletableFuture.delayedExecutor(pause, TimeUnit.MILLISECONDS))
          .thenCompose(sent -> sent);
    }

    /** Sends, and sends again while that is allowed. */
    <T> CompletableFuture<T> send(Supplier<CompletableFuture<T>> request) {
      CompletableFuture<T> sent = request.get();
      return most == 0 ? sent : sent.exceptionallyCompose(failure -> allow(failure)
          ? again(() -> send(request)) : CompletableFuture.failedFuture(failure));
    }
  }
}
