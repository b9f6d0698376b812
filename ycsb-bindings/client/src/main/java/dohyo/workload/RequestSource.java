package dohyo.workload;

import site.ycsb.Status;

/** Makes the requests of one client thread, one after another. */
public interface RequestSource {
  /** The next request, or {@code null} when there are no more. */
  Request next();

  /**
   * Called when a request has finished, so that inserted keys become readable.
   *
   * @param request  one that {@link #next} made
   * @param statuses one per record
   */
  default void finished(Request request, Status... statuses) {
  }
}
