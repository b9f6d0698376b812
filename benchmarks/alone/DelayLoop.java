import dohyo.binding.Shared;
import dohyo.binding.Transport;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import site.ycsb.Status;

/**
 * Answers every request after 1 ms on a separate thread, like the event loop of a driver. All delays are equal, so that
 * requests are answered in the order in which they are in the queue.
 */
final class DelayLoop implements Shared.Connection, Transport {
  private static final long DELAY_NANOS = 1_000_000;

  private final ConcurrentLinkedQueue<Request> requests = new ConcurrentLinkedQueue<>();
  private final Thread thread = new Thread(this::answer, "delay-loop");
  private volatile boolean isIdle;
  private volatile boolean isClosed;

  /** A request; {@code due} is the time at which to answer it, as a value of {@link System#nanoTime}. */
  private record Request(long due, CompletableFuture<Status> answer) {
  }

  DelayLoop() {
    thread.setDaemon(true);
    thread.start();
  }

  CompletableFuture<Status> send() {
    Request request = new Request(System.nanoTime() + DELAY_NANOS, new CompletableFuture<>());
    requests.add(request);
    if (isIdle) {
      LockSupport.unpark(thread);
    }
    return request.answer;
  }

  private void answer() {
    while (!isClosed) {
      Request next = requests.peek();
      if (next == null) {
        isIdle = true;
        // A thread that adds a request after this line sees that the loop is idle, and unparks it.
        if (requests.isEmpty() && !isClosed) {
          LockSupport.park(this);
        }
        isIdle = false;
        continue;
      }
      long wait = next.due - System.nanoTime();
      if (wait > 0) {
        LockSupport.parkNanos(this, wait);
      } else {
        requests.remove();
        next.answer.complete(Status.OK);
      }
    }
  }

  @Override
  public void close() {
    isClosed = true;
    LockSupport.unpark(thread);
  }

  @Override
  public int connections() {
    return 1;
  }

  @Override
  public int eventLoops() {
    return 1;
  }

  @Override
  public long retries() {
    return 0;
  }
}
