package dohyo.cassandra;

import com.datastax.driver.core.Cluster;
import com.datastax.driver.core.ConsistencyLevel;
import com.datastax.driver.core.Statement;
import com.datastax.driver.core.WriteType;
import com.datastax.driver.core.exceptions.DriverException;
import com.datastax.driver.core.policies.RetryPolicy;
import java.util.concurrent.atomic.LongAdder;

/**
 * Retries a failed statement up to {@code retries} times after any error, and counts the retries. A retry has the same
 * consistency level and goes to the same host, or to the next host if the first cannot be reached. The driver never
 * retries an invalid statement.
 */
final class LimitedRetries implements RetryPolicy {
  private final int maxRetries;
  private final LongAdder count = new LongAdder();

  LimitedRetries(int maxRetries) {
    this.maxRetries = maxRetries;
  }

  /** Returns the number of retries so far. */
  long count() {
    return count.sum();
  }

  private RetryDecision decide(ConsistencyLevel level, int done) {
    if (done >= maxRetries) {
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
    // Nothing to do, because the policy keeps no state for a cluster.
  }

  @Override
  public void close() {
    // The policy has no resources to release.
  }
}
