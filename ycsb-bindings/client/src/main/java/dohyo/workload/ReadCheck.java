package dohyo.workload;

import dohyo.binding.RowSink;
import java.util.Arrays;
import site.ycsb.Status;

/** Checks the records of one read. It takes their fields, which for one record come from one thread. */
public interface ReadCheck extends RowSink {
  /** The status of a record whose content is not what was written. */
  Status WRONG = new Status(Status.UNEXPECTED_STATE.getName(),
      "fields are missing, or are not what was written (dataintegrity, verify)");

  /** Makes the check of one read. */
  @FunctionalInterface
  interface Maker {
    ReadCheck make();
  }

  /** Called just before the read is sent. */
  default void begin() {
  }

  /**
   * The status of one record, after its fields.
   *
   * @param row    its position in the read, from 0
   * @param status what the binding says
   * @return the same, or {@link #WRONG} where it was read and is not right
   */
  Status checked(int row, Status status);

  /** The status of each record, as {@link #checked(int, Status)}. */
  default Status[] checked(Status[] statuses) {
    Status[] checked = new Status[statuses.length];
    for (int i = 0; i < checked.length; i++) {
      checked[i] = checked(i, statuses[i]);
    }
    return checked;
  }

  /** Of the statuses of checked records, those of records that were read, be they right or {@link #WRONG}. */
  static Status[] verified(Status[] checked) {
    return Arrays.stream(checked).filter(status -> status.isOk() || status == WRONG).toArray(Status[]::new);
  }
}
