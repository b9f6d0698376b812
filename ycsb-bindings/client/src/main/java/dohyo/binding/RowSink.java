package dohyo.binding;

import java.nio.ByteBuffer;

/** Takes the fields of the records that a read or a scan returns, one after another. */
@FunctionalInterface
public interface RowSink {
  /** Ignores all fields. */
  RowSink DISCARD = (row, column, value) -> { };

  /**
   * Takes one field. Called from the driver's threads; different rows of a batch may come from different threads at
   * the same time.
   *
   * @param row    position of the record in the batch or in the scan, from 0
   * @param column field name
   * @param value  the field's bytes between position and limit, valid only during the call
   */
  void field(int row, String column, ByteBuffer value);
}
