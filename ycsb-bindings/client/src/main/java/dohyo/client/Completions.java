package dohyo.client;

import java.util.ArrayDeque;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Queue of finished calls. Any thread may add calls. Only one thread at a time may take calls, between {@link #acquire}
 * and {@link #release}.
 */
final class Completions {
  private final ArrayDeque<Call> atOnce = new ArrayDeque<>();
  private final ConcurrentLinkedQueue<Call> answered = new ConcurrentLinkedQueue<>();
  private final Runnable wake;
  // No barrier is needed: a thread finds itself in this field only if it was the last thread to write the field.
  private Thread owner;

  /**
   * Creates the queue of one logical client.
   *
   * @param wake runs each time another thread has added a finished call
   */
  Completions(Runnable wake) {
    this.wake = wake;
  }

  /** Makes the current thread the only one that may take calls. */
  void acquire() {
    owner = Thread.currentThread();
  }

  /** Lets other threads take calls again. */
  void release() {
    owner = null;
  }

  void add(Call call) {
    if (Thread.currentThread() == owner) {
      // The answer came on the client's own thread, for example from a synchronous driver.
      atOnce.add(call);
      return;
    }
    answered.add(call);
    wake.run();
  }

  /** Returns the next call, {@code null} if there is none. */
  Call poll() {
    Call next = atOnce.poll();
    return next != null ? next : answered.poll();
  }

  boolean isEmpty() {
    return atOnce.isEmpty() && answered.isEmpty();
  }
}
