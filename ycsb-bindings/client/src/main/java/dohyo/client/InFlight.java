package dohyo.client;

import java.util.ArrayList;
import java.util.List;

/** Open calls of one logical client, in a fixed number of slots. Adding and removing take constant time. */
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

  /** Removes a call. Returns false if it had already been removed. */
  boolean remove(Call call) {
    int slot = call.slot();
    if (slots[slot] != call) {
      return false;
    }
    slots[slot] = null;
    free[freeCount++] = slot;
    return true;
  }

  /** Returns when the oldest call was sent, in {@link System#nanoTime}; the current time if there is no call. */
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

  /** Returns the calls that were sent up to the given time, in {@link System#nanoTime}. */
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
