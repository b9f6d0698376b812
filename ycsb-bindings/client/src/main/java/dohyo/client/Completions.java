package dohyo.client;

import dohyo.workload.Operation;
import java.util.ArrayDeque;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;

/**
 * Operations that have been answered, handed from the driver's threads back to the one that sent them (the owner, which
 * makes this object and alone takes from it).
 */
final class Completions {
  private final Thread owner = Thread.currentThread();
  private final ArrayDeque<Operation> atOnce = new ArrayDeque<>();
  private final ConcurrentLinkedQueue<Operation> answered = new ConcurrentLinkedQueue<>();
  private volatile Thread waiting;

  void add(Operation operation) {
    if (Thread.currentThread() == owner) {
      // A synchronous driver has answered before it returned: nobody else is involved.
      atOnce.add(operation);
      return;
    }
    answered.add(operation);
    Thread sleeper = waiting;
    if (sleeper != null) {
      LockSupport.unpark(sleeper);
    }
  }

  /** The next one, or {@code null} if there is none yet. */
  Operation poll() {
    Operation next = atOnce.poll();
    return next != null ? next : answered.poll();
  }

  /** The next one, waiting for it until a time of {@link System#nanoTime} at the most; {@code null} if none came. */
  Operation poll(long until) {
    Operation next = poll();
    if (next != null) {
      return next;
    }
    waiting = Thread.currentThread();
    try {
      while ((next = answered.poll()) == null) {
        long left = until - System.nanoTime();
        if (left <= 0 || Thread.currentThread().isInterrupted()) {
          return null;
        }
        LockSupport.parkNanos(this, left);
      }
      return next;
    } finally {
      waiting = null;
    }
  }
}
