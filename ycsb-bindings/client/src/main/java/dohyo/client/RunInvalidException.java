package dohyo.client;

/** Thrown if the run is invalid. The message says why. */
final class RunInvalidException extends Exception {
  private static final long serialVersionUID = 1L;

  RunInvalidException(String message) {
    super(message);
  }
}
