package dohyo.cassandra;

import com.datastax.driver.core.Cluster;
import com.datastax.driver.core.ConsistencyLevel;
import com.datastax.driver.core.Statement;
import com.datastax.driver.core.WriteType;
import com.datastax.driver.core.exceptions.DriverException;
import com.datastax.driver.core.policies.RetryPolicy;
import java.util.concurrent.atomic.LongAdder;

/**
 * Sends a statement again whatever it has failed with, as often as {@code retries} allows, and counts that. It goes to
 * the same host, and where that cannot be reached, to the next one; with the same consistency. A statement that the
 * server calls wrong is never sent again by the driver.
 */
final class LimitedRetries implements RetryPolicy {
  private final int most;
  private final LongAdder count = new LongAdder();

  LimitedRetries(int most) {
    this.most = most;
  }

  /** How many statements were sent again. */
  long count() {
    return count.sum();
  }

  private RetryDecision decide(ConsistencyLevel level, int done) {
    if (done >= most) {
      return RetryDecision.rethrow();
    }
    count.increment();
    return RetryDecision.retry(level);
  }

  @Override
  public RetryDecision onReadTimeout(Statement statement, ConsistencyLevel level, int required, int received,
      boolean dataReceived, int done) {
    return decide(level, done);
  }

  @Override
  public RetryDecision onWriteTimeout(Statement statement, ConsistencyLevel level, WriteType type, int required,
      int received, int done) {
    return decide(level, done);
  }

  @Override
  public RetryDecision onUnavailable(Statement statement, ConsistencyLevel level, int required, int alive, int done) {
    return decide(level, done);
  }

  @Override
  public RetryDecision onRequestError(Statement statement, ConsistencyLevel level, DriverException error, int done) {
    return decide(level, done);
  }

  @Override
  public void init(Cluster cluster) {
    // It keeps nothing of a cluster.
  }

  @Override
  public void close() {
    // It holds nothing.
  }
}
