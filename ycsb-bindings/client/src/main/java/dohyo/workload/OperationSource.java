package dohyo.workload;

/** Makes the operations of one client thread, one after another. */
public interface OperationSource {
  /** The next operation, or {@code null} when there are no more. */
  Operation next();

  /**
   * Tells the source that an operation has come to its end, so that keys inserted become readable.
   *
   * @param operation one that {@link #next} made
   */
  default void finished(Operation operation) {
  }
}
