package dohyo.workload;

import dohyo.binding.RowSink;
import java.util.Arrays;
import site.ycsb.Status;

/** Checks the records of one read, whose fields it receives. All fields of one record come from one thread. */
public interface ReadCheck extends RowSink {
  /** Status of a record whose content differs from the written content. */
  Status WRONG = new Status(Status.UNEXPECTED_STATE.getName(),
      "fields are missing or differ from the written values (dataintegrity, verify)");

  /** Creates the check of one read. */
  @FunctionalInterface
  interface Maker {
    ReadCheck make();
  }

  /** Prepares the check. The client calls it just before it sends the read. */
  default void begin() {
  }

  /**
   * Returns the status of one record after its fields have arrived.
   *
   * @param row    position of the record in the read, from 0
   * @param status status from the binding
   * @return the same status, or {@link #WRONG} if the record was read and has wrong content
   */
  Status checked(int row, Status status);

  /** Returns the status of each record, see {@link #checked(int, Status)}. */
  default Status[] checked(Status[] statuses) {
    Status[] checked = new Status[statuses.length];
    for (int i = 0; i < checked.length; i++) {
      checked[i] = checked(i, statuses[i]);
    }
    return checked;
  }

  /** Returns the statuses of the records that were found, whether their content is right or {@link #WRONG}. */
  static Status[] verified(Status[] checked) {
    return Arrays.stream(checked).filter(status -> status.isOk() || status == WRONG).toArray(Status[]::new);
  }
}
