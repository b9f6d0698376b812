package dohyo.client;

import java.util.concurrent.atomic.AtomicReference;

/** Set once, with the reason, when the run is given up; everybody looks at it. */
final class Abort {
  private final AtomicReference<String> reason = new AtomicReference<>();

  void set(String why) {
    reason.compareAndSet(null, why);
  }

  boolean isSet() {
    return reason.get() != null;
  }

  /** Why it was given up, {@code null} if it was not. */
  String reason() {
    return reason.get();
  }
}
