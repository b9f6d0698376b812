package dohyo.client;

import java.util.concurrent.atomic.AtomicReference;

/** Set once, with the reason, when the run is aborted; all threads check it. */
final class Abort {
  private final AtomicReference<String> reason = new AtomicReference<>();
  private volatile boolean ofDatabase;
  private volatile Runnable whenSet = () -> { };

  /** Sets an action that is called, on any thread, when the run is aborted. */
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

  /** Like {@link #set}, if the database is the cause. */
  void databaseFailed(String why) {
    ofDatabase = trySet(why) || ofDatabase;
  }

  /** A thread of the logical clients has died. */
  void died(Throwable error) {
    if (error instanceof OutOfMemoryError) {
      // A constant: there may be no memory to build a message.
      set("a client thread ran out of memory; give the client more heap (client_heap), or set a lower"
          + " threadcount, inflight or batchsize");
    } else {
      set("a client thread died: " + error);
      error.printStackTrace();
    }
  }

  boolean isSet() {
    return reason.get() != null;
  }

  /** Whether the database is the cause. */
  boolean isOfDatabase() {
    return ofDatabase;
  }

  /** Why the run was aborted, {@code null} if it was not. */
  String reason() {
    return reason.get();
  }
}
