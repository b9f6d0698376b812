package dohyo.jdbc;

import dohyo.binding.Binding;
import dohyo.binding.Outcome;
import dohyo.binding.Settings;
import dohyo.binding.Transport;
import java.sql.SQLException;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.IntStream;
import site.ycsb.DBException;
import site.ycsb.Status;

/**
 * Connections of one client thread. A single connection runs on the calling thread. Several connections have their own
 * threads, because JDBC blocks.
 */
final class JdbcConnections implements Transport {
  /** Limit of the default number of connections. With more, the server's threads would only wait for each other. */
  private static final int MOST = 32;

  private final long timeoutMillis;
  private final List<JdbcConnection> all;
  private final Deque<JdbcConnection> idle;
  private final ThreadPoolExecutor threads;

  /**
   * Thread that does one piece of work at a time. If the work submits further work, the thread does this next, so that
   * no other thread has to be woken.
   */
  private final class ConnectionThread extends Thread {
    private Runnable next;

    private ConnectionThread(Runnable body) {
      super(body, "jdbc-connection");
      setDaemon(true);
    }

    private JdbcConnections connections() {
      return JdbcConnections.this;
    }

    private void work(Runnable first) {
      for (Runnable work = first; work != null; work = next) {
        next = null;
        work.run();
      }
    }
  }

  /**
   * Opens all connections.
   *
   * @throws DBException if the server cannot be reached
   */
  JdbcConnections(Dialect dialect, Login login, Settings settings) throws DBException {
    timeoutMillis = Binding.operationTimeout(settings);
    int count = count(dialect, settings);
    all = IntStream.range(0, count).mapToObj(i -> new JdbcConnection(dialect, login, settings)).toList();
    for (JdbcConnection connection : all) {
      try {
        connection.open();
      } catch (SQLException e) {
        all.forEach(JdbcConnection::close);
        throw new DBException("cannot connect to %1$s: %2$s; check server, %3$s.url, %3$s.user and password"
            .formatted(login.place(), e.getMessage(), dialect.name()), e);
      }
    }
    idle = new ConcurrentLinkedDeque<>(all);
    threads = count == 1 ? null : new ThreadPoolExecutor(count, count, 0, TimeUnit.SECONDS,
        new LinkedBlockingQueue<>(), ConnectionThread::new);
  }

  /** Returns the number of connections of a client thread. */
  static int count(Dialect dialect, Settings settings) {
    int inFlight = settings.number("inflight", 1, 1, 1_000_000);
    return settings.number(dialect.name() + ".connections", Math.min(inFlight, MOST), 1, 1000);
  }

  /**
   * Runs work with a connection.
   *
   * @param work  the work
   * @param error converts the status of a failure to a result
   */
  <T> CompletableFuture<T> run(JdbcConnection.Work<T> work, Function<Status, T> error) {
    if (threads == null) {
      return CompletableFuture.completedFuture(on(all.get(0), work, error));
    }
    long asked = System.nanoTime();
    return CompletableFuture.supplyAsync(() -> {
      if (System.nanoTime() - asked > TimeUnit.MILLISECONDS.toNanos(timeoutMillis)) {
        return error.apply(Outcome.TIMEOUT);
      }
      // Each thread has a connection, so at least one is idle. Take the one used last, which has prepared statements.
      JdbcConnection connection = idle.pop();
      try {
        return on(connection, work, error);
      } finally {
        idle.push(connection);
      }
    }, this::execute);
  }

  private void execute(Runnable work) {
    // Work that is already waiting for a connection comes first.
    if (Thread.currentThread() instanceof ConnectionThread thread && thread.connections() == this
        && thread.next == null && threads.getQueue().isEmpty()) {
      thread.next = work;
    } else {
      threads.execute(() -> ((ConnectionThread) Thread.currentThread()).work(work));
    }
  }

  @Override
  public int connections() {
    return (int) all.stream().filter(JdbcConnection::isOpen).count();
  }

  @Override
  public int eventLoops() {
    return threads == null ? 0 : all.size();
  }

  @Override
  public long retries() {
    return all.stream().mapToLong(JdbcConnection::retries).sum();
  }

  private static <T> T on(JdbcConnection connection, JdbcConnection.Work<T> work, Function<Status, T> error) {
    try {
      return connection.run(work);
    } catch (SQLException e) {
      return error.apply(connection.dialect().status(e));
    }
  }

  /** Closes all connections when the current work has finished. */
  void close() {
    if (threads != null) {
      threads.shutdown();
      try {
        threads.awaitTermination(timeoutMillis, TimeUnit.MILLISECONDS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
    all.forEach(JdbcConnection::close);
  }
}
