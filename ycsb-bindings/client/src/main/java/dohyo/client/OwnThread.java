package dohyo.client;

import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;

/**
 * Runs one logical client on its own thread. The thread sleeps until an answer arrives, an operation is due or an
 * operation has timed out. {@link Workers#wake} wakes it after an abort or a change of the window.
 */
final class OwnThread {
  private final Completions completions = new Completions(this::wake);
  private final Worker worker;
  private volatile Thread waiting;

  OwnThread(Function<Completions, Worker> maker) {
    worker = maker.apply(completions);
  }

  /** Runs the client until it has ended. */
  void run() {
    completions.acquire();
    while (true) {
      long wait = worker.advance();
      if (worker.hasEnded()) {
        return;
      }
      if (wait > 0) {
        waiting = Thread.currentThread();
        // No wake-up is lost: an answer that is added after this check wakes the thread.
        if (completions.isEmpty()) {
          LockSupport.parkNanos(this, Math.min(wait, worker.untilTimeout()));
        }
        waiting = null;
      }
    }
  }

  private void wake() {
    Thread sleeper = waiting;
    if (sleeper != null) {
      LockSupport.unpark(sleeper);
    }
  }
}
