package dohyo.workload;

import site.ycsb.Status;

/** Creates the requests of one client thread, one after another. */
public interface RequestSource {
  /** Returns the next request, {@code null} after the last one. */
  Request next();

  /**
   * Tells the source that a request has finished, so that inserted keys become readable.
   *
   * @param request  a result of {@link #next}
   * @param statuses one per record
   */
  default void finished(Request request, Status... statuses) {
  }
}
