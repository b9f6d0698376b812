package dohyo.workload;

import dohyo.binding.Columns;
import dohyo.binding.KeyCodec;
import dohyo.binding.Row;
import java.util.ArrayList;
import java.util.List;

/** An immutable operation on one record, or on a batch of records of one table. */
public sealed interface Request {
  OperationType type();

  String table();

  /** Returns the workload's keys, one for each record. For a scan, returns only the first key. */
  List<byte[]> keys();

  /** Returns whether the client uses the binding's batch methods, even for one record. */
  boolean batched();

  /** Request that reads records by their keys. */
  sealed interface Reading extends Request {
    /** Returns the fields to read, {@code null} for all. */
    Columns readColumns();

    /** Returns the maker of the read's check ({@code dataintegrity}, {@code verify}); {@code null} without a check. */
    ReadCheck.Maker check();
  }

  /** Request that writes records. */
  sealed interface Writing extends Request {
    /** Returns the fields to write. */
    Columns writeColumns();

    /** Returns the values of each record, in the order of the fields to write. */
    byte[][][] values();

    /** Returns the writes in the ledger ({@code verify}); {@code null} without a ledger. */
    Ledger.Writes writes();

    /**
     * Returns the row to write for one record.
     *
     * @param key   the record's key in the database
     * @param index position of the record in the request, from 0
     */
    default Row row(byte[] key, int index) {
      return new Row(table(), key, writeColumns(), values()[index]);
    }

    /**
     * Returns the rows to write for all records.
     *
     * @param codec converts the workload's keys to stored keys
     */
    default List<Row> rows(KeyCodec codec) {
      List<Row> rows = new ArrayList<>(keys().size());
      for (int i = 0; i < keys().size(); i++) {
        rows.add(row(codec.encode(keys().get(i)), i));
      }
      return rows;
    }
  }

  /** Reads records. */
  record Read(String table, List<byte[]> keys, boolean batched, Columns readColumns, ReadCheck.Maker check)
      implements Reading {
    @Override
    public OperationType type() {
      return OperationType.READ;
    }
  }

  /** Reads up to {@code length} records, beginning with a key. Reads all fields if {@code columns} is {@code null}. */
  record Scan(String table, List<byte[]> keys, Columns columns, int length) implements Request {
    @Override
    public OperationType type() {
      return OperationType.SCAN;
    }

    @Override
    public boolean batched() {
      return false;
    }
  }

  /** Inserts records. {@code counts} has the count of each in {@link KeyChooser.Shared}; it is empty for a load. */
  record Insert(String table, List<byte[]> keys, boolean batched, Columns writeColumns, byte[][][] values,
      Ledger.Writes writes, long[] counts) implements Writing {
    @Override
    public OperationType type() {
      return OperationType.INSERT;
    }

    /** Returns whether the records are new, that is, not part of the load. */
    public boolean isNew() {
      return counts.length > 0;
    }
  }

  /** Writes some fields of existing records. */
  record Update(String table, List<byte[]> keys, boolean batched, Columns writeColumns, byte[][][] values,
      Ledger.Writes writes) implements Writing {
    @Override
    public OperationType type() {
      return OperationType.UPDATE;
    }
  }

  /** Reads records, then writes some of their fields. */
  record ReadModifyWrite(String table, List<byte[]> keys, boolean batched, Columns readColumns,
      ReadCheck.Maker check, Columns writeColumns, byte[][][] values, Ledger.Writes writes)
      implements Reading, Writing {
    @Override
    public OperationType type() {
      return OperationType.READ_MODIFY_WRITE;
    }
  }
}
