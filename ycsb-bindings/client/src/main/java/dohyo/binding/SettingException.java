package dohyo.binding;

/** Thrown if a property has an invalid value. The message names the key, the value and the allowed values. */
public final class SettingException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  public SettingException(String message) {
    super(message);
  }
}
