package dohyo.client;

import dohyo.workload.Operation;
import java.util.ArrayDeque;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Operations that have been answered, on whatever thread, until the logical client takes them. One thread at a time
 * takes, from {@link #own} to {@link #leave}.
 */
final class Completions {
  private final ArrayDeque<Operation> atOnce = new ArrayDeque<>();
  private final ConcurrentLinkedQueue<Operation> answered = new ConcurrentLinkedQueue<>();
  private final Runnable wake;
  // Needs no barrier: a thread finds itself here only if it was the last of its own writes.
  private Thread owner;

  /** Makes the queue of one logical client; {@code wake} is called after each answer that another thread brings. */
  Completions(Runnable wake) {
    this.wake = wake;
  }

  /** From now on this thread takes. */
  void own() {
    owner = Thread.currentThread();
  }

  /** From now on this thread takes no more. */
  void leave() {
    owner = null;
  }

  void add(Operation operation) {
    if (Thread.currentThread() == owner) {
      // A synchronous driver has answered before it returned: nobody else is involved.
      atOnce.add(operation);
      return;
    }
    answered.add(operation);
    wake.run();
  }

  /** The next one, or {@code null} if there is none. */
  Operation poll() {
    Operation next = atOnce.poll();
    return next != null ? next : answered.poll();
  }

  boolean isEmpty() {
    return atOnce.isEmpty() && answered.isEmpty();
  }
}
