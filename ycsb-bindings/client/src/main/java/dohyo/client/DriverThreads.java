package dohyo.client;

import java.util.ArrayList;
import java.util.List;
import java.util.PriorityQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;

/**
 * Runs many logical clients on the driver's threads. A client continues on the thread that delivers its answer. This
 * thread also prepares and sends the next operation, so that no thread has to wait or be woken. The thread that calls
 * {@link #run} sends operations when a target rate makes them due, and checks every client for timeouts.
 */
final class DriverThreads {
  /** Maximum number of rounds for one client before the driver's thread continues with other work. */
  private static final int MAX_ROUNDS = 16;

  private final Thread thread = Thread.currentThread();
  private final Abort abort;
  private final List<Client> clients = new ArrayList<>();
  private final AtomicInteger working;
  private final PriorityQueue<Due> due = new PriorityQueue<>();

  /** A client and the time at which to resume it, in {@link System#nanoTime}. */
  private record Due(long time, Client client) implements Comparable<Due> {
    @Override
    public int compareTo(Due other) {
      return Long.signum(time - other.time);
    }
  }

  /** A logical client. At most one thread at a time runs it. */
  private final class Client {
    private final Completions completions = new Completions(this::resume);
    private final Worker worker;
    /** Number of events since a thread began to run the client; 0 while no thread runs it. */
    private final AtomicInteger events = new AtomicInteger();
    private long scheduled;

    private Client(Function<Completions, Worker> maker) {
      worker = maker.apply(completions);
    }

    /** Resumes the client on this thread, or lets the thread that already runs it continue. */
    private void resume() {
      if (events.getAndIncrement() > 0) {
        return;
      }
      boolean ended;
      try {
        ended = advance();
      } catch (Exception | Error e) {
        abort.died(e);
        ended = true;
      }
      // Leave the number of events above 0, so that no thread runs the client again.
      if (ended && working.decrementAndGet() == 0) {
        LockSupport.unpark(thread);
      }
    }

    /** Runs the client while there are events, for at most MAX_ROUNDS rounds. Returns true if the client has ended. */
    private boolean advance() {
      for (int round = 1;; round++) {
        int seen = events.get();
        completions.acquire();
        long wait = worker.advance();
        completions.release();
        if (worker.hasEnded()) {
          return true;
        }
        if (wait == 0 || round == MAX_ROUNDS) {
          events.set(0);
          schedule(System.nanoTime(), this);
          return false;
        }
        if (wait != Worker.ANSWER && worker.nextDue() != scheduled) {
          scheduled = worker.nextDue();
          schedule(scheduled, this);
        }
        if (events.compareAndSet(seen, 0)) {
          return false;
        }
      }
    }
  }

  /** Creates the clients. The same thread must then call {@link #run}. */
  DriverThreads(List<Function<Completions, Worker>> makers, Abort abort) {
    this.abort = abort;
    makers.forEach(maker -> clients.add(new Client(maker)));
    working = new AtomicInteger(clients.size());
  }

  /** Runs the clients until all have ended. */
  void run() {
    long nextCheck = System.nanoTime();
    while (working.get() > 0) {
      long now = System.nanoTime();
      if (now - nextCheck >= 0) {
        nextCheck = now + Worker.TIMEOUT_CHECK_NANOS;
        clients.forEach(Client::resume);
      }
      for (Client client; (client = dueAt(now)) != null;) {
        client.resume();
      }
      sleep(nextCheck);
    }
  }

  /** Lets the thread in {@link #run} resume a client at the given time, in {@link System#nanoTime}. */
  private synchronized void schedule(long time, Client client) {
    Due added = new Due(time, client);
    due.add(added);
    if (due.peek() == added && Thread.currentThread() != thread) {
      LockSupport.unpark(thread);
    }
  }

  private synchronized Client dueAt(long now) {
    return due.isEmpty() || due.peek().time - now > 0 ? null : due.poll().client;
  }

  /** Sleeps until a client is due, or until the given time if that is earlier. */
  private void sleep(long until) {
    long wake = until;
    synchronized (this) {
      if (!due.isEmpty() && due.peek().time - until < 0) {
        wake = due.peek().time;
      }
    }
    long wait = wake - System.nanoTime();
    // No wake-up is lost: if a client is scheduled before the park, the unpark makes the park return at once.
    if (wait > 0 && working.get() > 0) {
      LockSupport.parkNanos(this, wait);
    }
  }
}
