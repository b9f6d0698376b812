package dohyo.client;

import java.util.ArrayList;
import java.util.List;

/** The open calls of one logical client, in a fixed number of slots that are found without a search. */
final class InFlight {
  private final Call[] slots;
  private final int[] free;
  private int freeCount;

  InFlight(int limit) {
    slots = new Call[limit];
    free = new int[limit];
    while (freeCount < limit) {
      free[freeCount] = freeCount++;
    }
  }

  boolean isFull() {
    return freeCount == 0;
  }

  boolean isEmpty() {
    return freeCount == slots.length;
  }

  void add(Call call) {
    int slot = free[--freeCount];
    slots[slot] = call;
    call.slot(slot);
  }

  /** Removes a call; false if it was not there any more. */
  boolean remove(Call call) {
    int slot = call.slot();
    if (slots[slot] != call) {
      return false;
    }
    slots[slot] = null;
    free[freeCount++] = slot;
    return true;
  }

  /** When the first of them was sent, in {@link System#nanoTime}; there must be one. */
  long oldest() {
    long now = System.nanoTime();
    long age = 0;
    for (Call call : slots) {
      if (call != null) {
        age = Math.max(age, now - call.started());
      }
    }
    return now - age;
  }

  /** Those that were sent before that time, in {@link System#nanoTime}. */
  List<Call> sentBefore(long time) {
    List<Call> found = new ArrayList<>();
    for (Call call : slots) {
      if (call != null && call.started() - time <= 0) {
        found.add(call);
      }
    }
    return found;
  }
}
