package dohyo.workload;

import dohyo.binding.SettingException;
import dohyo.binding.Settings;
import java.math.BigInteger;

/**
 * Divides the records, the tables, the operations and the key numbers of new records among the clients of a run and
 * their threads. {@code clients} is the number of clients, {@code clientnumber} the number of this one. With {@code
 * tables=client} each client uses only its own share of the {@code tablecount} tables.
 *
 * <p>New records are numbered round-robin. With two clients, the first inserts {@code recordcount}, {@code recordcount}
 * + 2, …, and the second inserts the others. {@link RecordLayout#tableOf} assigns tables in the same way. A
 * client with m tables of its own therefore takes m consecutive numbers at a time, which belong to these tables.
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
          + clients + " clients");
    }
    tables = own ? layout.tableCount() / clients : layout.tableCount();
    firstTable = own ? number * tables : 0;
    ownTables = own ? tables : 1;
  }

  /** Returns the first record that the clients load and request ({@code insertstart}). */
  long first() {
    return first;
  }

  /** Returns the number of records that all clients together load and request ({@code insertcount}). */
  long count() {
    return count;
  }

  /**
   * Returns the key number at which a thread's contiguous range of records begins and that of the previous thread ends.
   * The ranges of all clients and threads cover all records without gaps. If the number of threads divides the number
   * of tables, or vice versa, a range lies within one table or consists of whole tables. The records of a client do not
   * depend on its number of threads.
   *
   * @param thread  number of a thread of this client, from 0; {@code threads} for the end of the last range
   * @param threads number of threads per client
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
   * Returns how many of the operations of all clients a thread sends.
   *
   * @param all     number of operations of all clients
   * @param thread  number of a thread of this client, from 0
   * @param threads number of threads per client
   */
  long operations(long all, int thread, int threads) {
    long own = part(all, number + 1, clients) - part(all, number, clients);
    return own / threads + (thread < own % threads ? 1 : 0);
  }

  /**
   * Returns the offset of a thread's schedule at a target rate, as a share of the time between two of its operations.
   * The offsets spread all threads of all clients evenly over that time. Between two threads of one client, there is
   * one thread of every other client.
   *
   * @param thread  number of a thread of this client, from 0
   * @param threads number of threads per client
   */
  double shift(int thread, int threads) {
    return ((double) thread * clients + number) / ((double) threads * clients);
  }

  // Rounds down, so that positions stay in order for any number of parts. The product may exceed 64 bits.
  private static long part(long of, long index, long parts) {
    return BigInteger.valueOf(of).multiply(BigInteger.valueOf(index)).divide(BigInteger.valueOf(parts))
        .longValueExact();
  }

  /** Returns the first table that this client uses. */
  int firstTable() {
    return firstTable;
  }

  /** Returns the number of tables that this client uses. */
  int tables() {
    return tables;
  }

  /**
   * Returns the key number of a new record.
   *
   * @param inserted number of this client's earlier inserts
   */
  long keynum(long inserted) {
    return recordCount + inserted / ownTables * ownTables * clients + (long) number * ownTables + inserted % ownTables;
  }

  /**
   * Returns the position of a key number among this client's inserts, from 0; -1 if another client inserts it. The key
   * number is at least {@code recordcount}.
   */
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

  /** Returns whether each client uses its own tables. */
  boolean byTables() {
    return tables < layout.tableCount();
  }
}
