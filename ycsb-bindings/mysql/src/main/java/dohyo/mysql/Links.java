package dohyo.mysql;

import dohyo.binding.Binding;
import dohyo.binding.Outcome;
import dohyo.binding.Settings;
import dohyo.binding.Transport;
import java.sql.SQLException;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.IntStream;
import site.ycsb.DBException;
import site.ycsb.Status;

/**
 * The connections of one client thread. With one connection, what is asked for is done at once, on the thread that
 * asks; with several each has a thread of its own, as JDBC waits for its answers.
 */
final class Links implements Transport {
  /** More connections than this per client thread only make the server's threads wait for each other. */
  private static final int MOST = 32;

  private final long timeoutMillis;
  private final List<Link> all;
  private final Deque<Link> idle;
  private final ExecutorService threads;

  /**
   * Opens all connections.
   *
   * @throws DBException if the server cannot be reached
   */
  Links(Settings settings) throws DBException {
    timeoutMillis = Binding.operationTimeout(settings);
    int inFlight = settings.number("inflight", 1, 1, 1_000_000);
    int count = settings.number("mysql.connections", Math.min(inFlight, MOST), 1, 1000);
    Login login = new Login(settings);
    all = IntStream.range(0, count).mapToObj(i -> new Link(login, settings)).toList();
    for (Link link : all) {
      try {
        link.open();
      } catch (SQLException e) {
        all.forEach(Link::close);
        throw new DBException("cannot connect to " + login.place() + ": " + e.getMessage()
            + "; check that the server is up, and that mysql.url, mysql.user and mysql.password name it", e);
      }
    }
    idle = new ConcurrentLinkedDeque<>(all);
    threads = count == 1 ? null : Executors.newFixedThreadPool(count, work -> {
      Thread thread = new Thread(work, "mysql-link");
      thread.setDaemon(true);
      return thread;
    });
  }

  /**
   * Does something with a connection.
   *
   * @param work  what to do
   * @param error makes a result of an error
   */
  <T> CompletableFuture<T> run(Link.Work<T> work, Function<Status, T> error) {
    if (threads == null) {
      return CompletableFuture.completedFuture(on(all.get(0), work, error));
    }
    long asked = System.nanoTime();
    return CompletableFuture.supplyAsync(() -> {
      if (System.nanoTime() - asked > TimeUnit.MILLISECONDS.toNanos(timeoutMillis)) {
        return error.apply(Outcome.TIMEOUT);
      }
      // There are as many threads as connections, so one is idle; the last used, whose statements are prepared.
      Link link = idle.pop();
      try {
        return on(link, work, error);
      } finally {
        idle.push(link);
      }
    }, threads);
  }

  @Override
  public int connections() {
    return (int) all.stream().filter(Link::isOpen).count();
  }

  @Override
  public int eventLoops() {
    return threads == null ? 0 : all.size();
  }

  @Override
  public long retries() {
    return all.stream().mapToLong(Link::retries).sum();
  }

  private static <T> T on(Link link, Link.Work<T> work, Function<Status, T> error) {
    try {
      return link.run(work);
    } catch (SQLException e) {
      return error.apply(Link.status(e));
    }
  }

  /** Closes all connections, after what is under way. */
  void close() {
    if (threads != null) {
      threads.shutdown();
      try {
        threads.awaitTermination(timeoutMillis, TimeUnit.MILLISECONDS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
    all.forEach(Link::close);
  }
}
