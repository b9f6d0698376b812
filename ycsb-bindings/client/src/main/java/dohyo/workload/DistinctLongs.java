package dohyo.workload;

import java.util.Arrays;

/** A small set of non-negative numbers in the order of insertion, without boxing. */
final class DistinctLongs {
  private final long[] values;
  private final long[] slots;
  private int size;

  DistinctLongs(int capacity) {
    values = new long[capacity];
    // The table is at most half full, so that a search takes only a step or two.
    slots = new long[Integer.highestOneBit(Math.max(1, capacity)) * 4];
    Arrays.fill(slots, -1);
  }

  void add(long value) {
    int slot = (int) (value * 0x9E3779B97F4A7C15L >>> 32) & slots.length - 1;
    while (slots[slot] != -1) {
      if (slots[slot] == value) {
        return;
      }
      slot = slot + 1 & slots.length - 1;
    }
    slots[slot] = value;
    values[size++] = value;
  }

  int size() {
    return size;
  }

  long[] toArray() {
    return Arrays.copyOf(values, size);
  }
}
