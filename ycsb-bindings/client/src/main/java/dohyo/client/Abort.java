package dohyo.client;

import java.util.concurrent.atomic.AtomicReference;

/** Set once, with the reason, when the run is given up; everybody looks at it. */
final class Abort {
  private final AtomicReference<String> reason = new AtomicReference<>();
  private volatile boolean ofDatabase;
  private volatile Runnable whenSet = () -> { };

  /** Has this called when the run is given up, on whatever thread. */
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

  /** As {@link #set}, because of the database alone. */
  void databaseFailed(String why) {
    ofDatabase = trySet(why) || ofDatabase;
  }

  /** A thread cannot go on with what it did for the logical clients. */
  void died(Throwable error) {
    if (error instanceof OutOfMemoryError) {
      // No text is put together: there may be no memory for it.
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

  /** Whether the database is to blame, and neither the client nor who runs it. */
  boolean isOfDatabase() {
    return ofDatabase;
  }

  /** Why it was given up, {@code null} if it was not. */
  String reason() {
    return reason.get();
  }
}
