package dohyo.client;

import dohyo.binding.Binding;
import dohyo.binding.Columns;
import dohyo.binding.Row;
import dohyo.binding.RowSink;
import dohyo.binding.Settings;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import site.ycsb.DBException;
import site.ycsb.Status;

/**
 * A store that acknowledges updates which it does not apply as requested. It compares bytes to know which faults a
 * client must find. {@code unfaithful.act} says what it does with every {@code unfaithful.every}-th update:
 * <ul>
 *   <li>none: apply it</li>
 *   <li>lose: do not apply it</li>
 *   <li>reorder: apply it after a later write of the same record</li>
 *   <li>duplicate: apply it, and again after a later write of the same record</li>
 *   <li>delay: apply it some operations later</li>
 *   <li>truncate, flip: apply it with values that lack the last byte, or have a changed bit</li>
 *   <li>swap: replace the record with another one</li>
 *   <li>remove: remove the record</li>
 *   <li>error, late, refuse: report an error, and apply the update, apply it later or do not apply it</li>
 * </ul>
 */
public final class UnfaithfulBinding extends Binding {
  private static final Map<String, Store> STORES = new ConcurrentHashMap<>();
  private static final ExecutorService DRIVER = Executors.newFixedThreadPool(2, work -> {
    Thread thread = new Thread(work, "unfaithful-driver");
    thread.setDaemon(true);
    return thread;
  });
  private static final int LATE = 150;

  private Store store;
  private String act;
  private int every;
  private boolean async;

  /** Stored and acknowledged values. All access is synchronized. */
  static final class Store {
    private final TreeMap<String, Map<String, byte[]>> rows = new TreeMap<>();
    private final Map<String, Map<String, byte[]>> acknowledged = new HashMap<>();
    private final Set<String> maybes = new HashSet<>();
    private final Map<String, Row> held = new HashMap<>();
    private final TreeMap<Long, List<Row>> late = new TreeMap<>();
    private long operations;
    private long updates;
    long acts;
    long badReads;
    long failedReads;
    int refusedConnections;
    int unreadable;

    private void apply(Row row) {
      Map<String, byte[]> stored = rows.computeIfAbsent(name(row), k -> new HashMap<>());
      for (int i = 0; i < row.values().length; i++) {
        stored.put(row.columns().names().get(i), row.values()[i]);
      }
    }

    private void acknowledge(Row row) {
      Map<String, byte[]> last = acknowledged.computeIfAbsent(name(row), k -> new HashMap<>());
      for (int i = 0; i < row.values().length; i++) {
        last.put(row.columns().names().get(i), row.values()[i]);
      }
    }

    private void operation() {
      operations++;
      while (!late.isEmpty() && late.firstKey() <= operations) {
        late.pollFirstEntry().getValue().forEach(this::apply);
      }
    }

    /** Returns whether a record has the acknowledged values, or values that a failed write may have left. */
    private boolean isRight(String name) {
      Map<String, byte[]> stored = rows.getOrDefault(name, Map.of());
      return acknowledged.getOrDefault(name, Map.of()).entrySet().stream().allMatch(cell -> {
        byte[] value = stored.get(cell.getKey());
        return value != null && (Arrays.equals(value, cell.getValue())
            || maybes.contains(name + cell.getKey() + text(value)));
      });
    }

    /** Applies all delayed writes. */
    synchronized void settle() {
      late.values().forEach(rows -> rows.forEach(this::apply));
      late.clear();
    }

    /** Returns the number of records with wrong values. */
    synchronized long wrong() {
      return acknowledged.keySet().stream().filter(name -> !isRight(name)).count();
    }
  }

  static Store store(String name) {
    return STORES.computeIfAbsent(name, n -> new Store());
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.ISO_8859_1);
  }

  private static String name(Row row) {
    return row.table() + "/" + text(row.key());
  }

  @Override
  public String[] loops(Settings settings) {
    return new String[] {"events", "threads"};
  }

  @Override
  protected void connect(Settings settings) throws DBException {
    store = store(settings.text("memory.store", "default"));
    act = settings.text("unfaithful.act", "none");
    every = settings.number("unfaithful.every", 7, 1, 1_000_000);
    async = settings.text("client.loop", "threads").equals("events");
    if (settings.flag("unfaithful.strong", false)) {
      synchronized (store) {
        if (store.refusedConnections > 0) {
          store.refusedConnections--;
          throw new DBException("connection refused");
        }
      }
      // Before the read-back, all delayed writes arrive.
      store.settle();
      act = "read-back";
    }
  }

  @Override
  public Map<String, String> strongestReads(Settings settings) {
    return Map.of("unfaithful.strong", "true");
  }

  @Override
  protected void disconnect() {
    // Keep the store, so that the test can examine it.
  }

  private CompletableFuture<Status> answer(Status status) {
    return async ? CompletableFuture.supplyAsync(() -> status, DRIVER) : CompletableFuture.completedFuture(status);
  }

  @Override
  public CompletableFuture<Status> readRow(String table, byte[] key, Columns columns, RowSink sink) {
    String name = table + "/" + text(key);
    synchronized (store) {
      store.operation();
      if (act.equals("read-back") && store.failedReads > 0) {
        store.failedReads--;
        return answer(new Status("IO", "disk on fire"));
      }
      if (act.equals("read-back") && Math.floorMod(name.hashCode(), 100) < store.unreadable) {
        return answer(new Status("IO", "the server is lost"));
      }
      Map<String, byte[]> row = store.rows.get(name);
      // A read-before-write discards the fields and checks nothing.
      if (!store.isRight(name) && !act.equals("read-back") && sink != RowSink.DISCARD) {
        store.badReads++;
      }
      if (row == null) {
        return answer(Status.NOT_FOUND);
      }
      row.forEach((field, value) -> {
        if (columns == null || columns.names().contains(field)) {
          sink.field(0, field, ByteBuffer.wrap(value));
        }
      });
      return answer(Status.OK);
    }
  }

  @Override
  public CompletableFuture<Status> insertRow(Row row) {
    synchronized (store) {
      store.operation();
      store.apply(row);
      store.acknowledge(row);
      return answer(Status.OK);
    }
  }

  @Override
  public CompletableFuture<Status> updateRow(Row row) {
    synchronized (store) {
      store.operation();
      boolean acts = ++store.updates % every == 0 && !act.equals("none");
      store.acts += acts ? 1 : 0;
      boolean fails = acts && List.of("error", "late", "refuse").contains(act);
      if (fails) {
        for (int i = 0; i < row.values().length; i++) {
          store.maybes.add(name(row) + row.columns().names().get(i) + text(row.values()[i]));
        }
      } else {
        store.acknowledge(row);
      }
      if (!acts || act.equals("error") || act.equals("duplicate")) {
        store.apply(row);
      }
      Row held = store.held.remove(name(row));
      if (held != null) {
        store.apply(held);
      }
      if (acts) {
        act(row);
      }
      return answer(fails ? new Status("IO", "outcome unknown") : Status.OK);
    }
  }

  private void act(Row row) {
    switch (act) {
      case "reorder", "duplicate" -> store.held.put(name(row), row);
      case "delay", "late" -> store.late.computeIfAbsent(store.operations + LATE, k -> new ArrayList<>()).add(row);
      case "truncate" -> store.apply(new Row(row.table(), row.key(), row.columns(), changed(row, value ->
          Arrays.copyOf(value, value.length - 1))));
      case "flip" -> store.apply(new Row(row.table(), row.key(), row.columns(), changed(row, value -> {
        byte[] other = value.clone();
        other[(int) (store.updates % other.length)] ^= (byte) (1 << store.updates % 8);
        return other;
      })));
      case "swap" -> store.rows.get(name(row)).putAll(store.rows.get(
          name(row).equals(store.rows.firstKey()) ? store.rows.lastKey() : store.rows.firstKey()));
      case "remove" -> store.rows.remove(name(row));
      default -> {
        // lose, refuse and error do nothing more.
      }
    }
  }

  private static byte[][] changed(Row row, java.util.function.UnaryOperator<byte[]> change) {
    return Arrays.stream(row.values()).map(change).toArray(byte[][]::new);
  }

  @Override
  public CompletableFuture<Status> deleteRow(String table, byte[] key) {
    throw new UnsupportedOperationException("deleteRow");
  }

  @Override
  public CompletableFuture<Status> scanRows(String table, byte[] key, int count, Columns columns, RowSink sink) {
    throw new UnsupportedOperationException("scanRows");
  }
}
