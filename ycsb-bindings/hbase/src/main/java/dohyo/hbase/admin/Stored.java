package dohyo.hbase.admin;

import java.util.Collection;
import org.apache.hadoop.hbase.RegionMetrics;
import org.apache.hadoop.hbase.Size;

/**
 * Where the records of some regions are, as their region servers report it at one moment.
 *
 * @param files             store files (HFiles)
 * @param memstoreMegabytes MiB of data in memstores; each region's are rounded down by the server
 */
record Stored(int files, long memstoreMegabytes) {
  /** Adds up what the region servers say. */
  static Stored of(Collection<RegionMetrics> regions) {
    return new Stored(regions.stream().mapToInt(RegionMetrics::getStoreFileCount).sum(),
        regions.stream().mapToLong(region -> (long) region.getMemStoreSize().get(Size.Unit.MEGABYTE)).sum());
  }

  /** A note for the report: where reads come from if nothing is flushed. */
  String unflushed() {
    return "settle.flush=false: " + (files == 0
        ? "all records are in memstores, none in files"
        : "%d store files were written nevertheless, because memstores were full, and reads come from both; "
            .formatted(files) + "raise hbase_heap or hbase.hregion.memstore.flush.size, or load fewer records");
  }
}
