package dohyo.workload;

import dohyo.binding.Columns;
import dohyo.binding.Outcome;
import dohyo.binding.SettingException;
import dohyo.binding.Settings;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.atomic.LongAdder;
import site.ycsb.Status;

/**
 * Records which values this client has written in a run, and which the database has acknowledged ({@code
 * verify=acknowledged}). All logical clients share the ledger.
 *
 * <p>Each value begins with a {@link Stamp}. The ledger tracks <em>cells</em>. If updates can change single fields,
 * each field is a cell; otherwise the whole record is. A cell takes eight bytes, which contain the sequence numbers of
 * the last acknowledged and the last attempted write. Only one client writes a record, one write at a time, so the
 * order of the writes is known. The database may apply a failed write at any later time, so the ledger accepts its
 * value in every later read. It tracks only a sample if this client owns more than {@code verify.keys} records.
 */
public final class Ledger {
  /** Verdict on a record that was read, from the best to the worst. */
  public enum Finding {
    /** Value of the last write, or of a failed write that may have been applied. */
    RIGHT,
    /**
     * Valid value of a record that the ledger does not track. Another client writes the record, an earlier run inserted
     * it, or it is not in the sample.
     */
    UNKNOWN,
    /** Value that is older than a write acknowledged before the read began. */
    BEHIND,
    /** Record not found, although a write was acknowledged before the read began. */
    MISSING,
    /** Valid value of a write that was never attempted. */
    UNWRITTEN,
    /** Invalid value or record: wrong checksum, length, key or fields. */
    CORRUPT
  }

  private static final int CHUNK_BITS = 16;
  private static final int BITS = 30;
  private static final long MASK = (1L << BITS) - 1;
  private static final long BUSY = 1L << 2 * BITS;
  private static final int MAX_EXAMPLES = 10;
  private static final Finding[] FINDINGS = Finding.values();

  private final RecordLayout layout;
  private final Ownership own;
  private final Map<String, Integer> fields = new HashMap<>();
  private final Map<Columns, int[]> numbers = new ConcurrentHashMap<>();
  private final int cells;
  private final int writer;
  private final int run;
  private final long sample;
  private final long slots;
  // The first write to a chunk allocates it.
  private final AtomicReferenceArray<AtomicLongArray> states;
  private final Map<Long, int[]> maybes = new ConcurrentHashMap<>();
  private final Counts reads = new Counts();
  private final Counts readBack = new Counts();
  private final LongAdder acknowledged = new LongAdder();
  private final LongAdder maybe = new LongAdder();
  private final AtomicInteger exampleCount = new AtomicInteger();
  private final ConcurrentLinkedQueue<String> examples = new ConcurrentLinkedQueue<>();
  private final List<long[]> bySecond = new ArrayList<>();
  private long[] lastSecond = {0, 0, 0, 0};

  /** Number of records with each verdict. */
  private static final class Counts {
    private final Map<Finding, LongAdder> each = new EnumMap<>(Finding.class);

    Counts() {
      for (Finding finding : FINDINGS) {
        each.put(finding, new LongAdder());
      }
    }

    void add(Finding finding) {
      each.get(finding).increment();
    }

    long of(Finding... findings) {
      return Arrays.stream(findings).mapToLong(finding -> each.get(finding).sum()).sum();
    }

    long all() {
      return of(FINDINGS);
    }
  }

  /**
   * Reads {@code verify.keys} and {@code verify.run}.
   *
   * @param open maximum number of records with an open write at the same time; 0 if the run only inserts or reads
   * @throws SettingException if this client has too few records for that many open writes
   */
  Ledger(Settings settings, RecordLayout layout, Division division, long open) {
    this.layout = layout;
    long insertedBefore = settings.whole("inserted", 0, 0, Long.MAX_VALUE / 4);
    boolean contiguous = division.byTables() || settings.text("requestdistribution", "").equals("ranges");
    own = new Ownership(division, layout, contiguous, insertedBefore);
    long perTable = own.loaded() / division.tables();
    if (open >= perTable && open > 0) {
      throw new SettingException("verify=acknowledged: " + perTable + " records of a table for " + open
          + " open writes; raise recordcount");
    }
    for (String name : layout.allColumns().names()) {
      fields.put(name, fields.size());
    }
    cells = layout.fieldCount() == 1 || settings.flag("writeallfields", false) ? 1 : layout.fieldCount();
    writer = division.number();
    run = settings.number("verify.run", 1, 1, Stamp.MAX_RUN);
    long most = settings.whole("verify.keys", 500_000, 1, 100_000_000);
    sample = Math.max(1, (own.loaded() + most - 1) / most);
    // The second term is for the records that the run inserts.
    slots = (own.loaded() + sample - 1) / sample + most;
    states = new AtomicReferenceArray<>((int) (slots * cells >> CHUNK_BITS) + 1);
  }

  /**
   * Returns whether {@code verify=acknowledged} is set.
   *
   * @throws SettingException if {@code dataintegrity=true} is also set
   */
  static boolean isWanted(Settings settings) {
    boolean wanted = settings.choice("verify", "none", "acknowledged").equals("acknowledged");
    if (wanted && settings.flag("dataintegrity", false)) {
      throw new SettingException("verify=acknowledged includes all checks of dataintegrity=true; set only one");
    }
    return wanted;
  }

  /** Stamps the values of a loaded record. */
  static void stampLoaded(long keynum, int writer, byte[][] values) {
    Stamp stamp = new Stamp(keynum, writer, 0, 0);
    for (int field = 0; field < values.length; field++) {
      stamp.write(values[field], field);
    }
  }

  // ---- Positions of the cells ----

  /** Returns the first cell of a record, or -1 if the record is not in the sample. */
  private long cell(long index) {
    if (index < 0) {
      return -1;
    }
    long slot = index / sample;
    return slot < slots && index == member(slot) ? slot * cells : -1;
  }

  /** Returns the sampled record in a block of {@code sample} records. A hash of the block's number selects it. */
  private long member(long slot) {
    return slot * sample + (sample == 1 ? 0 : (slot * 0x9E3779B97F4A7C15L >>> 33) % sample);
  }

  private long state(long cell) {
    AtomicLongArray chunk = states.get((int) (cell >> CHUNK_BITS));
    return chunk == null ? 0 : chunk.getAcquire(at(cell));
  }

  private void state(long cell, long state) {
    chunk(cell).setRelease(at(cell), state);
  }

  private AtomicLongArray chunk(long cell) {
    int number = (int) (cell >> CHUNK_BITS);
    AtomicLongArray chunk = states.get(number);
    if (chunk == null) {
      states.compareAndSet(number, null, new AtomicLongArray(1 << CHUNK_BITS));
      chunk = states.get(number);
    }
    return chunk;
  }

  private static int at(long cell) {
    return (int) cell & (1 << CHUNK_BITS) - 1;
  }

  private static int attempted(long state) {
    return (int) (state & MASK);
  }

  private static int acknowledged(long state) {
    return (int) (state >> BITS & MASK);
  }

  private int[] numbers(Columns columns) {
    int[] known = numbers.get(columns);
    return known != null ? known
        : numbers.computeIfAbsent(columns, c -> c.names().stream().mapToInt(fields::get).toArray());
  }

  // ---- Writes ----

  /**
   * Reserves a record for one write. {@link Writes#finished} releases it.
   *
   * @return false if another client writes the record, or the record already has an open write
   */
  boolean take(long keynum) {
    long index = own.index(keynum);
    long cell = cell(index);
    if (cell < 0) {
      return index != Ownership.NOT_OWN;
    }
    AtomicLongArray chunk = chunk(cell);
    long state = chunk.getAcquire(at(cell));
    return (state & BUSY) == 0 && chunk.compareAndSet(at(cell), state, state | BUSY);
  }

  /**
   * Reserves the nearest record that this client can write now, in the same table.
   *
   * @param keynum number of a loaded record
   * @param taken  the batch so far; its records are not eligible
   * @param count  number of records in the batch so far
   * @throws SettingException if every record of this client in the table has an open write
   */
  long takeNear(long keynum, long[] taken, int count) {
    int table = layout.tableOf(keynum);
    long nearest = own.nearest(keynum);
    for (long distance = 0; distance < own.loaded(); distance++) {
      for (long index : new long[] {nearest + distance, nearest - distance}) {
        if (index >= 0 && index < own.loaded()) {
          long near = own.keynum(index);
          if (layout.tableOf(near) == table && !contains(taken, count, near) && take(near)) {
            return near;
          }
        }
      }
    }
    throw new SettingException("verify=acknowledged: all records of table " + layout.table(table)
        + " have an open write; raise recordcount");
  }

  static boolean contains(long[] numbers, int count, long wanted) {
    for (int i = 0; i < count; i++) {
      if (numbers[i] == wanted) {
        return true;
      }
    }
    return false;
  }

  /** Assigns sequence numbers to the values of records that are reserved or new, and stamps the values. */
  Writes write(long[] keynums, Columns columns, byte[][][] values) {
    return new Writes(keynums, numbers(columns), values);
  }

  /** Writes of one request. */
  final class Writes {
    private final long[] firstCells;
    private final int[] written;
    // Sequence number of the write, for each record and written cell.
    private final int[] sequences;

    private Writes(long[] keynums, int[] fieldNumbers, byte[][][] values) {
      written = cells == 1 ? new int[] {0} : fieldNumbers;
      firstCells = new long[keynums.length];
      sequences = new int[keynums.length * written.length];
      for (int i = 0; i < keynums.length; i++) {
        firstCells[i] = cell(own.index(keynums[i]));
        for (int j = 0; j < written.length; j++) {
          sequences[i * written.length + j] = firstCells[i] < 0 ? Stamp.UNCOUNTED : attempt(firstCells[i] + written[j]);
        }
        for (int j = 0; j < fieldNumbers.length; j++) {
          int sequence = sequences[i * written.length + (cells == 1 ? 0 : j)];
          new Stamp(keynums[i], writer, run, sequence).write(values[i][j], fieldNumbers[j]);
        }
      }
    }

    private int attempt(long cell) {
      long state = state(cell) + 1;
      if (attempted(state) == Stamp.UNCOUNTED) {
        throw new IllegalStateException("verify=acknowledged: a record was written " + Stamp.UNCOUNTED + " times");
      }
      state(cell, state);
      return attempted(state);
    }

    /** Records the outcome of the writes: acknowledged, not written ({@link Status#NOT_FOUND}), or possibly applied. */
    void finished(Status... statuses) {
      for (int i = 0; i < firstCells.length; i++) {
        long first = firstCells[i];
        if (first < 0) {
          continue;
        }
        boolean ok = statuses[i].isOk();
        boolean isMaybe = Outcome.isError(statuses[i]);
        for (int j = 0; j < written.length; j++) {
          long cell = first + written[j];
          int sequence = sequences[i * written.length + j];
          if (ok) {
            state(cell, state(cell) & ~(MASK << BITS) | (long) sequence << BITS);
          } else if (isMaybe) {
            maybes.merge(cell, new int[] {sequence}, Ledger::joined);
          }
        }
        state(first, state(first) & ~BUSY);
        if (ok) {
          acknowledged.increment();
        } else if (isMaybe) {
          maybe.increment();
        }
      }
    }
  }

  private static int[] joined(int[] some, int[] more) {
    int[] all = Arrays.copyOf(some, some.length + more.length);
    System.arraycopy(more, 0, all, some.length, more.length);
    return all;
  }

  // ---- Reads ----

  /**
   * Creates the check of one read during the run.
   *
   * @param keynums numbers of the records
   * @param columns requested fields, {@code null} for all
   */
  ReadCheck check(long[] keynums, Columns columns) {
    return new Check(keynums, columns, reads);
  }

  /** Creates the check of one record that is read back after the run. */
  public ReadCheck checkReadBack(long keynum) {
    return new Check(new long[] {keynum}, null, readBack);
  }

  /** Compares the records of a read with the acknowledged and attempted writes. */
  private final class Check implements ReadCheck {
    private final long[] keynums;
    private final int[] wanted;
    private final Counts counts;
    private final long[] firstCells;
    // Sequence number of the last acknowledged write when the read began, for each record and cell.
    private final int[] floors;
    private final boolean[] seen;
    private final Finding[] findings;
    private final Stamp[] stamps;

    Check(long[] keynums, Columns columns, Counts counts) {
      this.keynums = keynums;
      this.counts = counts;
      wanted = numbers(columns == null ? layout.allColumns() : columns);
      firstCells = new long[keynums.length];
      floors = new int[keynums.length * cells];
      seen = new boolean[keynums.length * layout.fieldCount()];
      findings = new Finding[keynums.length];
      stamps = cells == 1 ? new Stamp[keynums.length] : null;
    }

    @Override
    public void begin() {
      for (int i = 0; i < keynums.length; i++) {
        firstCells[i] = cell(own.index(keynums[i]));
        findings[i] = firstCells[i] < 0 ? Finding.UNKNOWN : Finding.RIGHT;
        for (int cell = 0; firstCells[i] >= 0 && cell < cells; cell++) {
          floors[i * cells + cell] = acknowledged(state(firstCells[i] + cell));
        }
      }
    }

    @Override
    public void field(int row, String column, ByteBuffer value) {
      Integer field = fields.get(column);
      if (field == null || seen[row * layout.fieldCount() + field]) {
        found(row, Finding.CORRUPT, "field " + column + (field == null ? " does not exist" : " came twice"));
        return;
      }
      seen[row * layout.fieldCount() + field] = true;
      Stamp stamp = Stamp.read(value, field);
      if (stamp == null) {
        found(row, Finding.CORRUPT, column + " of " + value.remaining() + " bytes has a wrong checksum");
      } else if (stamp.key() != keynums[row]) {
        found(row, Finding.CORRUPT, column + " is of record " + stamp.key());
      } else {
        // Fields from earlier runs may have different stamps, because earlier runs may have updated single fields.
        if (stamps != null && stamps[row] != null && !stamps[row].equals(stamp)
            && (stamp.run() == run || stamps[row].run() == run)) {
          found(row, Finding.CORRUPT, column + " is of " + stamp + ", another field of " + stamps[row]);
        }
        if (stamps != null) {
          stamps[row] = stamp;
        }
        judge(row, cells == 1 ? 0 : field, column, stamp);
      }
    }

    private void judge(int row, int cell, String column, Stamp stamp) {
      if (firstCells[row] < 0) {
        return;
      }
      int floor = floors[row * cells + cell];
      long place = firstCells[row] + cell;
      if (stamp.run() > run || stamp.run() == run
          && (stamp.writer() != writer || stamp.sequence() > attempted(state(place)))) {
        found(row, Finding.UNWRITTEN, column + " is of " + stamp + ", but this client attempted only "
            + attempted(state(place)) + " writes in run " + run);
      } else if (floor > 0 && (stamp.run() < run || stamp.sequence() < floor && !isMaybe(place, stamp.sequence()))) {
        found(row, Finding.BEHIND, column + " is of " + stamp + ", acknowledged: write " + floor + " of run " + run);
      }
    }

    private boolean isMaybe(long cell, int sequence) {
      return Arrays.stream(maybes.getOrDefault(cell, new int[0])).anyMatch(one -> one == sequence);
    }

    private void found(int row, Finding finding, String what) {
      if (finding.compareTo(findings[row]) > 0) {
        findings[row] = finding;
        example(keynums[row], finding, what);
      }
    }

    @Override
    public Status checked(int row, Status status) {
      if (Outcome.isError(status)) {
        return status;
      }
      boolean isLoaded = keynums[row] < layout.recordCount();
      if (status.isOk()) {
        for (int field : wanted) {
          boolean mustBe = isLoaded || firstCells[row] >= 0 && floors[row * cells + (cells == 1 ? 0 : field)] > 0;
          if (mustBe && !seen[row * layout.fieldCount() + field]) {
            found(row, Finding.CORRUPT, layout.allColumns().names().get(field) + " is missing");
          }
        }
      } else if (firstCells[row] >= 0
          && (isLoaded || Arrays.stream(floors, row * cells, row * cells + cells).anyMatch(floor -> floor > 0))) {
        found(row, Finding.MISSING, "not found");
      }
      counts.add(findings[row]);
      return findings[row] == Finding.CORRUPT ? WRONG : status;
    }
  }

  private void example(long keynum, Finding finding, String what) {
    if (exampleCount.get() < MAX_EXAMPLES && exampleCount.incrementAndGet() <= MAX_EXAMPLES) {
      examples.add("record " + keynum + " (" + new String(layout.key(keynum), StandardCharsets.ISO_8859_1) + ") "
          + finding.name().toLowerCase(java.util.Locale.ROOT) + ": " + what);
    }
  }

  // ---- After the run ----

  /**
   * Returns the number of blocks for {@link #readBackKey}.
   *
   * @param inserted number of records that this run has inserted or may have inserted
   */
  public long readBackBlocks(long inserted) {
    return Math.min(slots, (own.loaded() + inserted + sample - 1) / sample);
  }

  /** Returns the record of a block that is read back, or -1 if the block has none. */
  public long readBackKey(long block, long inserted) {
    long index = member(block);
    return index < own.loaded() + inserted ? own.keynum(index) : -1;
  }

  /** Returns the table of a record. */
  public String table(long keynum) {
    return layout.table(layout.tableOf(keynum));
  }

  /** Returns the workload's key of a record. */
  public byte[] key(long keynum) {
    return layout.key(keynum);
  }

  /**
   * Stores the numbers of bad verdicts and of failed writes since the last call, if there were any.
   *
   * @param second the second that has ended, counted from the start of the window; negative in the warm-up
   */
  public void tick(long second) {
    long[] now = {reads.of(Finding.BEHIND, Finding.MISSING), reads.of(Finding.UNWRITTEN), reads.of(Finding.CORRUPT),
        maybe.sum()};
    if (Arrays.equals(now, lastSecond)) {
      return;
    }
    if (bySecond.isEmpty() || bySecond.get(bySecond.size() - 1)[0] != second) {
      bySecond.add(new long[] {second, 0, 0, 0, 0});
    }
    for (int i = 0; i < now.length; i++) {
      bySecond.get(bySecond.size() - 1)[i + 1] += now[i] - lastSecond[i];
    }
    lastSecond = now;
  }

  /** Returns the figures for client.json: writes, reads during the run, and records that were read back. */
  public Map<String, Object> figures() {
    Map<String, Object> figures = new LinkedHashMap<>();
    figures.put("sample", sample);
    figures.put("acknowledged", acknowledged.sum());
    figures.put("maybe", maybe.sum());
    figures.put("reads", reads.all() - reads.of(Finding.UNKNOWN));
    figures.put("unknown_reads", reads.of(Finding.UNKNOWN));
    figures.put("stale_reads", reads.of(Finding.BEHIND, Finding.MISSING));
    figures.put("unwritten_reads", reads.of(Finding.UNWRITTEN));
    figures.put("corrupt_reads", reads.of(Finding.CORRUPT));
    figures.put("keys", readBack.all());
    figures.put("lost", readBack.of(Finding.BEHIND));
    figures.put("missing", readBack.of(Finding.MISSING));
    figures.put("unwritten", readBack.of(Finding.UNWRITTEN));
    figures.put("corrupt", readBack.of(Finding.CORRUPT));
    figures.put("by_second", bySecond);
    figures.put("examples", examples);
    return figures;
  }
}
