package dohyo.client;

import com.sun.management.OperatingSystemMXBean;
import dohyo.binding.Transport;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/**
 * Resources that this process used in the measured window: processor time, garbage collections, the busiest thread, and
 * the transport.
 */
final class Footprint {
  private static final OperatingSystemMXBean SYSTEM =
      ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  private final Set<Transport> transports;
  private final Map<Long, Long> nanosAtBegin = new HashMap<>();
  private long begun;
  private long cpuAtBegin;
  private long retriesAtBegin;
  private GarbageCollections collectionsAtBegin;
  private boolean isSampled;
  private String busiestThread;
  private double busiestShare;
  private int connections;
  private int eventLoops;
  private double cpuSeconds;
  private long retries;
  private GarbageCollections collections;

  /** Starts the measurement. Must be called at the beginning of the measured window. */
  Footprint(Set<Transport> transports) {
    this.transports = transports;
    cpuAtBegin = SYSTEM.getProcessCpuTime();
    retriesAtBegin = retriesSoFar();
    collectionsAtBegin = GarbageCollections.now();
    for (long id : THREADS.getAllThreadIds()) {
      nanosAtBegin.put(id, THREADS.getThreadCpuTime(id));
    }
    begun = System.nanoTime();
  }

  /** Samples threads and connections once, after the window and before the threads end. */
  void sample() {
    if (isSampled) {
      return;
    }
    isSampled = true;
    long most = -1;
    long busiest = 0;
    for (long id : THREADS.getAllThreadIds()) {
      long used = THREADS.getThreadCpuTime(id) - Math.max(0, nanosAtBegin.getOrDefault(id, 0L));
      if (used > most) {
        most = used;
        busiest = id;
      }
    }
    busiestShare = Math.max(0, most) / (double) Math.max(1, System.nanoTime() - begun);
    ThreadInfo thread = THREADS.getThreadInfo(busiest);
    busiestThread = thread == null ? "a thread that has ended" : thread.getThreadName();
    connections = transports.stream().mapToInt(Transport::connections).sum();
    eventLoops = transports.stream().mapToInt(Transport::eventLoops).sum();
  }

  /** Ends the measurement. Must be called after the last answer. */
  void end() {
    sample();
    cpuSeconds = (SYSTEM.getProcessCpuTime() - cpuAtBegin) / 1e9;
    retries = retriesSoFar() - retriesAtBegin;
    collections = GarbageCollections.now().since(collectionsAtBegin);
  }

  /**
   * Returns the processors that this process may use, such as 0-3,8. Returns {@code null} if it may use all, or if the
   * kernel does not show them.
   */
  static String processors() {
    try {
      String prefix = "Cpus_allowed_list:";
      String allowed = Files.readAllLines(Path.of("/proc/self/status")).stream().filter(line -> line.startsWith(prefix))
          .map(line -> line.substring(prefix.length()).strip()).findFirst().orElse(null);
      String all = Files.readString(Path.of("/sys/devices/system/cpu/online")).strip();
      return all.equals(allowed) ? null : allowed;
    } catch (IOException e) {
      return null;
    }
  }

  private long retriesSoFar() {
    return transports.stream().mapToLong(Transport::retries).sum();
  }

  /** Returns the processor time of this process from the beginning of the window to the last answer, in seconds. */
  double cpuSeconds() {
    return cpuSeconds;
  }

  /** Returns the garbage collections from the beginning of the window to the last answer. */
  GarbageCollections collections() {
    return collections;
  }

  /** Adds the samples to a summary. If no transport was reported, the samples of the transport are {@code null}. */
  void write(Map<String, Object> summary) {
    boolean isKnown = !transports.isEmpty();
    summary.put("connections", isKnown ? connections : null);
    summary.put("event_loops", isKnown ? eventLoops : null);
    summary.put("retried_requests", isKnown ? retries : null);
    summary.put("busiest_thread", busiestThread);
    summary.put("busiest_thread_share", busiestShare);
    summary.put("cpus", processors());
  }
}
