package dohyo.client;

import java.util.concurrent.atomic.AtomicReference;

/** Flag that stops the run, and its reason. The first caller sets the reason, and all threads check the flag. */
final class Abort {
  private final AtomicReference<String> reason = new AtomicReference<>();
  private volatile boolean ofDatabase;
  private volatile Runnable whenSet = () -> { };

  /** Registers an action. The thread that aborts the run performs it. */
  void whenSet(Runnable action) {
    whenSet = action;
  }

  void set(String why) {
    trySet(why);
  }

  private boolean trySet(String why) {
    boolean first = reason.compareAndSet(null, why);
    if (first) {
      whenSet.run();
    }
    return first;
  }

  /** Aborts the run like {@link #set}, with the database as the cause. */
  void databaseFailed(String why) {
    ofDatabase = trySet(why) || ofDatabase;
  }

  /** Aborts the run because a thread of the logical clients has died. */
  void died(Throwable error) {
    if (error instanceof OutOfMemoryError) {
      // Use a constant, because there may be no memory to build a message.
      set("a client thread ran out of memory; raise client_heap,"
          + " or lower threadcount, inflight or batchsize");
    } else {
      set("a client thread died: " + error);
      error.printStackTrace();
    }
  }

  boolean isSet() {
    return reason.get() != null;
  }

  /** Returns whether the database is the cause of the abort. */
  boolean isOfDatabase() {
    return ofDatabase;
  }

  /** Returns why the run was aborted; {@code null} if it was not. */
  String reason() {
    return reason.get();
  }
}
