package dohyo.client;

/** The run is invalid; the message says why. */
final class RunInvalidException extends Exception {
  private static final long serialVersionUID = 1L;

  RunInvalidException(String message) {
    super(message);
  }
}
