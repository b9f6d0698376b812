package dohyo.client;

import dohyo.workload.Operation;
import java.util.ArrayList;
import java.util.List;

/** The operations of one thread that are on their way: a fixed number of slots, found without searching. */
final class InFlight {
  private final Operation[] slots;
  private final int[] free;
  private int freeCount;

  InFlight(int limit) {
    slots = new Operation[limit];
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

  void add(Operation operation) {
    int slot = free[--freeCount];
    slots[slot] = operation;
    operation.slot(slot);
  }

  /** Takes it out; false if it was not there any more. */
  boolean remove(Operation operation) {
    int slot = operation.slot();
    if (slots[slot] != operation) {
      return false;
    }
    slots[slot] = null;
    free[freeCount++] = slot;
    return true;
  }

  /** Those that were sent before that time, in {@link System#nanoTime}. */
  List<Operation> sentBefore(long time) {
    List<Operation> found = new ArrayList<>();
    for (Operation operation : slots) {
      if (operation != null && operation.started() - time <= 0) {
        found.add(operation);
      }
    }
    return found;
  }
}
