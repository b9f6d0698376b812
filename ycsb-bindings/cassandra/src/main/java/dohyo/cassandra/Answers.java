package dohyo.cassandra;

import com.datastax.driver.core.PagingIterable;
import com.datastax.driver.core.Row;
import com.google.common.util.concurrent.FutureCallback;
import com.google.common.util.concurrent.Futures;
import com.google.common.util.concurrent.ListenableFuture;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/** Converts the driver's futures to those of {@code java.util.concurrent}, and reads results. */
public final class Answers {
  private Answers() {
  }

  /**
   * Adapts a future.
   *
   * @param future future from the driver
   * @param decode converts the driver's result; it runs on the driver's thread, which saves a thread switch per record
   * @return a future with the result, or with the exception of the driver or of {@code decode}
   */
  static <A, R> CompletableFuture<R> of(ListenableFuture<A> future, Function<? super A, R> decode) {
    Adapter<A, R> adapter = new Adapter<>(decode);
    Futures.addCallback(future, adapter);
    return adapter;
  }

  /**
   * Returns the next row.
   *
   * @param rows a result set, typed as the general interface, because for a {@code ResultSet} the compiler would choose
   *             a method {@code one} that ScyllaDB's driver lacks
   * @return the row; {@code null} if there is none
   */
  public static Row next(PagingIterable<?, Row> rows) {
    return rows.one();
  }

  private static final class Adapter<A, R> extends CompletableFuture<R> implements FutureCallback<A> {
    private final Function<? super A, R> decode;

    Adapter(Function<? super A, R> decode) {
      this.decode = decode;
    }

    @Override
    public void onSuccess(A answer) {
      try {
        complete(decode.apply(answer));
      } catch (RuntimeException | Error e) {
        // Also pass on errors: the driver's thread would only log them, and the future would never complete.
        completeExceptionally(e);
      }
    }

    @Override
    public void onFailure(Throwable error) {
      completeExceptionally(error);
    }
  }
}
