package dohyo.client;

import java.util.ArrayList;
import java.util.List;
import java.util.PriorityQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;

/**
 * Runs many logical clients without threads of their own: each goes on within the driver's thread that brings its
 * answer, where the next operation is made and sent, so that no thread waits and none is woken. The one thread behind
 * them sends what is due at a time, and looks at every client now and then.
 */
final class DriverThreads {
  /** How often an answer that came meanwhile lets the same thread go on: its other work waits. */
  private static final int MOST_ROUNDS = 16;

  private final Thread thread = Thread.currentThread();
  private final Abort abort;
  private final List<Client> clients = new ArrayList<>();
  private final AtomicInteger working;
  private final PriorityQueue<Due> due = new PriorityQueue<>();

  /** When a client is to go on, in {@link System#nanoTime}. */
  private record Due(long time, Client client) implements Comparable<Due> {
    @Override
    public int compareTo(Due other) {
      return Long.signum(time - other.time);
    }
  }

  /** A logical client that at most one thread is at. */
  private final class Client {
    private final Completions completions = new Completions(this::goOn);
    private final Worker worker;
    /** What has happened since a thread came to it; 0 while none is at it. */
    private final AtomicInteger events = new AtomicInteger();
    private long scheduled;

    private Client(Function<Completions, Worker> maker) {
      worker = maker.apply(completions);
    }

    /** Lets the client go on, on this thread or on the one that is at it. */
    private void goOn() {
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
      // There are events for ever, so that no thread comes to it any more.
      if (ended && working.decrementAndGet() == 0) {
        LockSupport.unpark(thread);
      }
    }

    /** Goes on while something happens to the client, but not for long; true if the client has ended. */
    private boolean advance() {
      for (int round = 1;; round++) {
        int seen = events.get();
        completions.own();
        long wait = worker.advance();
        completions.leave();
        if (worker.hasEnded()) {
          return true;
        }
        if (wait == 0 || round == MOST_ROUNDS) {
          events.set(0);
          schedule(System.nanoTime(), this);
          return false;
        }
        if (wait != Worker.ANSWER && worker.turn() != scheduled) {
          scheduled = worker.turn();
          schedule(scheduled, this);
        }
        if (events.compareAndSet(seen, 0)) {
          return false;
        }
      }
    }
  }

  /** Makes the clients; the calling thread is to {@link #run} them. */
  DriverThreads(List<Function<Completions, Worker>> makers, Abort abort) {
    this.abort = abort;
    makers.forEach(maker -> clients.add(new Client(maker)));
    working = new AtomicInteger(clients.size());
  }

  /** Returns when all clients have ended. */
  void run() {
    long glance = System.nanoTime();
    while (working.get() > 0) {
      long now = System.nanoTime();
      if (now - glance >= 0) {
        glance = now + Worker.GLANCE_NANOS;
        clients.forEach(Client::goOn);
      }
      for (Client client; (client = dueAt(now)) != null;) {
        client.goOn();
      }
      sleep(glance);
    }
  }

  /** Lets a client go on at that time, on the thread behind all. */
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

  /** Sleeps until a client is to go on, and until that time at the most. */
  private void sleep(long until) {
    long wake = until;
    synchronized (this) {
      if (!due.isEmpty() && due.peek().time - until < 0) {
        wake = due.peek().time;
      }
    }
    long wait = wake - System.nanoTime();
    // Nothing is lost between: a client that is scheduled meanwhile has unparked this thread, which then does not park.
    if (wait > 0 && working.get() > 0) {
      LockSupport.parkNanos(this, wait);
    }
  }
}
