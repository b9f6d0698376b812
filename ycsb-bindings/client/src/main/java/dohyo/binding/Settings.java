package dohyo.binding;

import java.util.Arrays;
import java.util.Properties;

/** Reads properties, and checks their types and ranges. The exception for an invalid value names the property. */
public final class Settings {
  private final Properties properties;

  public Settings(Properties properties) {
    this.properties = properties;
  }

  /** Returns the underlying properties, for classes of YCSB. */
  public Properties properties() {
    return properties;
  }

  public boolean has(String key) {
    return !text(key, "").isEmpty();
  }

  /**
   * Reads a text.
   *
   * @param key      property name
   * @param fallback value if the property is missing
   * @return the value without surrounding blanks
   */
  public String text(String key, String fallback) {
    String value = properties.getProperty(key);
    return value == null ? fallback : value.strip();
  }

  /**
   * Reads a mandatory text.
   *
   * @param key property name
   * @return the value without surrounding blanks
   * @throws SettingException if the property is missing or empty
   */
  public String required(String key) {
    if (!has(key)) {
      throw new SettingException(key + ": no value");
    }
    return text(key, "");
  }

  /**
   * Reads one of several values.
   *
   * @param key     property name
   * @param choices allowed values; the first is the default
   * @return the value
   * @throws SettingException if the value is not one of them
   */
  public String choice(String key, String... choices) {
    String value = text(key, choices[0]);
    if (!Arrays.asList(choices).contains(value)) {
      throw new SettingException(key + "=" + value + ": must be one of " + String.join(", ", choices));
    }
    return value;
  }

  /**
   * Reads a boolean.
   *
   * @param key      property name
   * @param fallback value if the property is missing
   * @return the value
   * @throws SettingException if the value is neither {@code true} nor {@code false}, in upper or lower case
   */
  public boolean flag(String key, boolean fallback) {
    return switch (text(key, String.valueOf(fallback)).toLowerCase(java.util.Locale.ROOT)) {
      case "true" -> true;
      case "false" -> false;
      default -> throw new SettingException(key + "=" + text(key, "") + ": must be true or false");
    };
  }

  /**
   * Reads a 64-bit integer.
   *
   * @param key      property name
   * @param fallback value if the property is missing
   * @param min      minimum, inclusive
   * @param max      maximum, inclusive
   * @return the value
   * @throws SettingException if the value is not an integer or is out of range
   */
  public long whole(String key, long fallback, long min, long max) {
    String value = text(key, Long.toString(fallback));
    try {
      long number = Long.parseLong(value);
      if (number >= min && number <= max) {
        return number;
      }
    } catch (NumberFormatException e) {
      // The statement below reports this error.
    }
    throw new SettingException(key + "=" + value + ": must be a whole number from " + min + " to " + max);
  }

  /** Reads an {@code int} like {@link #whole}. */
  public int number(String key, int fallback, int min, int max) {
    return (int) whole(key, fallback, min, max);
  }

  /**
   * Reads a decimal number.
   *
   * @param key      property name
   * @param fallback value if the property is missing
   * @param min      minimum, inclusive
   * @param max      maximum, inclusive
   * @return the value
   * @throws SettingException if the value is not a number or is out of range
   */
  public double decimal(String key, double fallback, double min, double max) {
    String value = text(key, Double.toString(fallback));
    try {
      double number = Double.parseDouble(value);
      if (number >= min && number <= max) {
        return number;
      }
    } catch (NumberFormatException e) {
      // The statement below reports this error.
    }
    throw new SettingException(key + "=" + value + ": must be a number from " + min + " to " + max);
  }
}
