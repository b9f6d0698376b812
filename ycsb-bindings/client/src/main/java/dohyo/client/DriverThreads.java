package dohyo.client;

import java.util.ArrayList;
import java.util.List;
import java.util.PriorityQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;

/**
 * Runs many logical clients without threads of their own. Each continues on the driver's thread that brings its answer,
 * where the next operation is prepared and sent, so that no thread waits or is woken. One more thread sends operations
 * of a target rate and checks every client for timeouts.
 */
final class DriverThreads {
  /** Limit on rounds for answers that came meanwhile: the thread has other work. */
  private static final int MAX_ROUNDS = 16;

  private final Thread thread = Thread.currentThread();
  private final Abort abort;
  private final List<Client> clients = new ArrayList<>();
  private final AtomicInteger working;
  private final PriorityQueue<Due> due = new PriorityQueue<>();

  /** When a client is to be resumed, in {@link System#nanoTime}. */
  private record Due(long time, Client client) implements Comparable<Due> {
    @Override
    public int compareTo(Due other) {
      return Long.signum(time - other.time);
    }
  }

  /** A logical client that at most one thread runs at a time. */
  private final class Client {
    private final Completions completions = new Completions(this::resume);
    private final Worker worker;
    /** Events since a thread began to run it; 0 while none does. */
    private final AtomicInteger events = new AtomicInteger();
    private long scheduled;

    private Client(Function<Completions, Worker> maker) {
      worker = maker.apply(completions);
    }

    /** Resumes the client, on this thread or on the one that runs it. */
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
      // The count of events stays above 0, so that no thread runs it again.
      if (ended && working.decrementAndGet() == 0) {
        LockSupport.unpark(thread);
      }
    }

    /** Runs the client while there are events, for a limited number of rounds; true if it has ended. */
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

  /** Makes the clients; the calling thread then calls {@link #run}. */
  DriverThreads(List<Function<Completions, Worker>> makers, Abort abort) {
    this.abort = abort;
    makers.forEach(maker -> clients.add(new Client(maker)));
    working = new AtomicInteger(clients.size());
  }

  /** Returns when all clients have ended. */
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

  /** Has the common thread resume a client at that time. */
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

  /** Sleeps until a client is to be resumed, and until that time at the latest. */
  private void sleep(long until) {
    long wake = until;
    synchronized (this) {
      if (!due.isEmpty() && due.peek().time - until < 0) {
        wake = due.peek().time;
      }
    }
    long wait = wake - System.nanoTime();
    // No wake-up is lost: a client that is scheduled meanwhile has unparked this thread, which then does not park.
    if (wait > 0 && working.get() > 0) {
      LockSupport.parkNanos(this, wait);
    }
  }
}
