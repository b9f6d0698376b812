package dohyo.hbase.admin;

import java.util.Collection;
import org.apache.hadoop.hbase.RegionMetrics;
import org.apache.hadoop.hbase.Size;

/**
 * Number of files and amount of unflushed data of some regions, as reported by their servers at the same time.
 *
 * @param files             number of store files (HFiles)
 * @param memstoreMegabytes data in memstores in MiB; the server rounds the value of each region down
 */
record Stored(int files, long memstoreMegabytes) {
  /** Sums the reports of the region servers. */
  static Stored of(Collection<RegionMetrics> regions) {
    return new Stored(regions.stream().mapToInt(RegionMetrics::getStoreFileCount).sum(),
        regions.stream().mapToLong(region -> (long) region.getMemStoreSize().get(Size.Unit.MEGABYTE)).sum());
  }

  /** Returns a note that says whether reads also use files, although nothing was flushed. */
  String unflushed() {
    return "settle.flush=false: " + (files == 0
        ? "all records are in memstores, none in files"
        : "full memstores became " + files + " files; raise hbase_heap, or load less");
  }
}
