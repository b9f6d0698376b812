package dohyo.client;

import java.util.ArrayDeque;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Calls that have been answered, on whatever thread, until the logical client takes them. One thread at a time
 * takes, from {@link #own} to {@link #leave}.
 */
final class Completions {
  private final ArrayDeque<Call> atOnce = new ArrayDeque<>();
  private final ConcurrentLinkedQueue<Call> answered = new ConcurrentLinkedQueue<>();
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

  void add(Call call) {
    if (Thread.currentThread() == owner) {
      // A synchronous driver has answered before it returned: nobody else is involved.
      atOnce.add(call);
      return;
    }
    answered.add(call);
    wake.run();
  }

  /** The next one, or {@code null} if there is none. */
  Call poll() {
    Call next = atOnce.poll();
    return next != null ? next : answered.poll();
  }

  boolean isEmpty() {
    return atOnce.isEmpty() && answered.isEmpty();
  }
}
