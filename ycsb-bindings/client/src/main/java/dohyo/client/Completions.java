package dohyo.client;

import java.util.ArrayDeque;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Queue of answered calls: any thread adds, the logical client takes. One thread at a time takes, from
 * {@link #acquire} to {@link #release}.
 */
final class Completions {
  private final ArrayDeque<Call> atOnce = new ArrayDeque<>();
  private final ConcurrentLinkedQueue<Call> answered = new ConcurrentLinkedQueue<>();
  private final Runnable wake;
  // Needs no barrier: a thread reads its own name here only if it wrote it last.
  private Thread owner;

  /** Makes the queue of one logical client; {@code wake} is called after each answer that another thread brings. */
  Completions(Runnable wake) {
    this.wake = wake;
  }

  /** This thread takes from now on. */
  void acquire() {
    owner = Thread.currentThread();
  }

  /** This thread takes no more. */
  void release() {
    owner = null;
  }

  void add(Call call) {
    if (Thread.currentThread() == owner) {
      // A synchronous driver has answered before it returned: no other thread is involved.
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
