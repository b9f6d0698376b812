package dohyo.binding;

import java.util.List;

/**
 * Names of the fields that an operation reads or writes, in the order of their values.
 *
 * <p>A workload creates each set of columns once, and uses it for many operations. The hash code is computed once,
 * so bindings can use a set as the key of a map, for example of prepared statements.
 */
public final class Columns {
  private final List<String> names;
  private final int hash;

  private Columns(List<String> names) {
    this.names = List.copyOf(names);
    this.hash = this.names.hashCode();
  }

  /**
   * Creates a set of columns.
   *
   * @param names field names, at least one, in the order of their values
   * @return the set
   * @throws IllegalArgumentException if there are no names
   */
  public static Columns of(List<String> names) {
    if (names.isEmpty()) {
      throw new IllegalArgumentException("no field names given: an operation reads or writes at least one field");
    }
    return new Columns(names);
  }

  public List<String> names() {
    return names;
  }

  public int size() {
    return names.size();
  }

  @Override
  public boolean equals(Object other) {
    return this == other || other instanceof Columns that && hash == that.hash && names.equals(that.names);
  }

  @Override
  public int hashCode() {
    return hash;
  }

  @Override
  public String toString() {
    return names.toString();
  }
}
