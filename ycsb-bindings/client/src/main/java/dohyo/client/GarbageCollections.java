package dohyo.client;

import java.util.Map;
import java.util.TreeMap;
import site.ycsb.Utils;

/**
 * The garbage collections of this process.
 *
 * @param byCollector number of collections and their time in milliseconds, by the name that YCSB gives the collector
 */
record GarbageCollections(Map<String, Long[]> byCollector) {
  static final GarbageCollections NONE = new GarbageCollections(Map.of());

  /** Returns the collections since the start of the process. */
  static GarbageCollections now() {
    return new GarbageCollections(new TreeMap<>(Utils.getGCStatst()));
  }

  /** Returns these collections without the earlier ones. */
  GarbageCollections since(GarbageCollections earlier) {
    Map<String, Long[]> found = new TreeMap<>(byCollector);
    earlier.byCollector.forEach((name, before) ->
        found.computeIfPresent(name, (n, now) -> new Long[] {now[0] - before[0], now[1] - before[1]}));
    return new GarbageCollections(found);
  }

  /** Returns the number of collections. */
  long count() {
    return byCollector.values().stream().mapToLong(each -> each[0]).sum();
  }

  /** Returns the time of all collections in milliseconds. */
  long millis() {
    return byCollector.values().stream().mapToLong(each -> each[1]).sum();
  }
}
