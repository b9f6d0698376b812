package dohyo.workload;

import dohyo.binding.Columns;
import dohyo.binding.KeyCodec;
import dohyo.binding.Row;
import java.util.ArrayList;
import java.util.List;

/** What one operation does to the database, with one record or a batch of records of one table. Immutable. */
public sealed interface Request {
  OperationType type();

  String table();

  /** The workload's keys, one per record; a scan has the one that it starts from. */
  List<byte[]> keys();

  /** Whether it uses the batch methods of the binding, even with one record. */
  boolean batched();

  /** A request that reads records by their keys. */
  sealed interface Reading extends Request {
    /** Fields to read, {@code null} for all. */
    Columns readColumns();

    /** Makes the check of one answer ({@code dataintegrity}, {@code verify}); {@code null} without a check. */
    ReadCheck.Maker check();
  }

  /** A request that writes records. */
  sealed interface Writing extends Request {
    /** Fields to write. */
    Columns writeColumns();

    /** Per record one value per field to write. */
    byte[][][] values();

    /** What is accounted for ({@code verify}); {@code null} where nothing is. */
    Ledger.Writes writes();

    /**
     * What is written to one record.
     *
     * @param key   its key in the database
     * @param index its number, from 0
     */
    default Row row(byte[] key, int index) {
      return new Row(table(), key, writeColumns(), values()[index]);
    }

    /** What is written to all its records, whose keys {@code codec} turns into those of the database. */
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

  /** Reads up to {@code length} records from a key on; all their fields if {@code columns} is {@code null}. */
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

  /** Inserts records; {@code counts} holds the count of each that is new, and nothing for those of the load. */
  record Insert(String table, List<byte[]> keys, boolean batched, Columns writeColumns, byte[][][] values,
      Ledger.Writes writes, long[] counts) implements Writing {
    @Override
    public OperationType type() {
      return OperationType.INSERT;
    }

    /** Whether it inserts records that were not loaded. */
    public boolean isNew() {
      return counts.length > 0;
    }
  }

  /** Writes some fields of records that are there. */
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
