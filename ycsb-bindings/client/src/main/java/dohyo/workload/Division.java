package dohyo.workload;

import dohyo.binding.SettingException;
import dohyo.binding.Settings;
import java.math.BigInteger;

/**
 * How the clients of a run and their threads share the records, the tables and the key numbers of new records:
 * there are {@code clients}, and this one is {@code clientnumber}. With {@code tables=client} each works on its own
 * share of the {@code tablecount} tables alone.
 *
 * <p>New records are numbered round-robin: with two clients the first inserts {@code recordcount}, {@code recordcount}
 * + 2, …, the second the numbers between. {@link RecordLayout#tableOf} assigns tables in the same way, so a client with
 * m tables of its own takes m numbers at a time, which belong to its tables.
 */
final class Division {
  private final int clients;
  private final int number;
  private final int ownTables;
  private final int firstTable;
  private final int tables;
  private final RecordLayout layout;
  private final long recordCount;
  private final long first;
  private final long count;

  /**
   * Reads {@code clients}, {@code clientnumber}, {@code tables}, {@code insertstart} and {@code insertcount}.
   *
   * @throws SettingException if one is out of range, or the tables cannot be divided among the clients
   */
  Division(Settings settings, RecordLayout layout) {
    clients = settings.number("clients", 1, 1, 1_000_000);
    number = settings.number("clientnumber", 0, 0, clients - 1);
    this.layout = layout;
    recordCount = layout.recordCount();
    first = settings.whole("insertstart", 0, 0, recordCount - 1);
    count = settings.whole("insertcount", recordCount - first, 1, recordCount - first);
    boolean own = settings.choice("tables", "shared", "client").equals("client");
    if (own && layout.tableCount() % clients != 0) {
      throw new SettingException("tables=client: tablecount=" + layout.tableCount() + " must be a multiple of the "
          + clients + " clients, so that each has as many tables");
    }
    tables = own ? layout.tableCount() / clients : layout.tableCount();
    firstTable = own ? number * tables : 0;
    ownTables = own ? tables : 1;
  }

  /** First of the records that all clients together load and request ({@code insertstart}). */
  long first() {
    return first;
  }

  /** How many these are ({@code insertcount}). */
  long count() {
    return count;
  }

  /**
   * Where a thread's contiguous range of the records begins, and that of the thread before it ends. The ranges of all
   * clients and threads meet without gaps; where the threads are a multiple of the tables, or the tables of the
   * threads, none lies in two tables in part. Those of a client do not depend on how many threads it has.
   *
   * @param thread  number of a thread of this client, from 0; {@code threads} for the end of the last one's range
   * @param threads how many threads each client has
   */
  long edge(int thread, int threads) {
    long index = (long) number * threads + thread;
    long parts = (long) clients * threads;
    if (count < recordCount) {
      return first + part(count, index, parts);
    }
    long place = index * layout.tableCount();
    int table = (int) (place / parts);
    return layout.firstOf(table) + part(layout.endOf(table) - layout.firstOf(table), place % parts, parts);
  }

  /**
   * How far a thread's grid of a target rate is shifted, as a share of the time between two of its operations, so that
   * all threads of all clients are evenly spread over it and a client's next one comes after a turn of all clients.
   *
   * @param thread  number of a thread of this client, from 0
   * @param threads how many threads each client has
   */
  double shift(int thread, int threads) {
    return ((double) thread * clients + number) / ((double) threads * clients);
  }

  // Only rounding down keeps the order of places that are counted in different parts; a product has up to 96 bits.
  private static long part(long of, long index, long parts) {
    return BigInteger.valueOf(of).multiply(BigInteger.valueOf(index)).divide(BigInteger.valueOf(parts))
        .longValueExact();
  }

  /** First of the tables that this client works on. */
  int firstTable() {
    return firstTable;
  }

  /** How many tables it works on. */
  int tables() {
    return tables;
  }

  /**
   * The key number of a record.
   *
   * @param count a key number below {@code recordcount}, which stays; from there on the count of this client's inserts
   */
  long keynum(long count) {
    if (count < recordCount) {
      return count;
    }
    long inserted = count - recordCount;
    return recordCount + inserted / ownTables * ownTables * clients + (long) number * ownTables + inserted % ownTables;
  }

  /** Which of this client's inserts a key number from {@code recordcount} on is; below 0 if another client's. */
  long inserted(long keynum) {
    long offset = keynum - recordCount;
    long turn = offset / ownTables;
    return turn % clients == number ? turn / clients * ownTables + offset % ownTables : -1;
  }

  int clients() {
    return clients;
  }

  int number() {
    return number;
  }

  /** Whether each client works on tables of its own. */
  boolean byTables() {
    return tables < layout.tableCount();
  }
}
