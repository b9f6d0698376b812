package dohyo.admin;

import dohyo.binding.Settings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Implements the verbs of {@link Attached} for all systems. */
final class AttachedVerbs {
  private static final int PINGS = 21;
  private static final double NANOS_PER_MILLI = 1e6;

  private AttachedVerbs() {
  }

  /** Implementation of one verb on a connected cluster. */
  @FunctionalInterface
  interface Work {
    Map<String, ?> on(Attached attached, Settings arguments) throws Exception;
  }

  static Map<String, ?> schema(Attached attached, Settings arguments) throws Exception {
    if (attached.exists()) {
      throw Attached.taken(attached);
    }
    // Write the file before the place is created. If this process is killed in between, remove finds no place.
    Files.writeString(Attached.made(arguments), arguments.required(Attached.NONCE) + "\n" + attached.what() + "\n");
    if (!attached.make()) {
      Files.delete(Attached.made(arguments));
      throw Attached.taken(attached);
    }
    attached.createTables();
    return Map.of("conditions", attached.conditions());
  }

  static Map<String, ?> settle(Attached attached, Settings arguments) throws Exception {
    long began = System.nanoTime();
    boolean may = arguments.flag("flush", false);
    boolean flushed = may && attached.flush();
    String note = flushed ? "settled: only Dohyo's tables were flushed and compacted"
        : may ? "not settled: this system's protocol has no request to flush"
            : "not settled: Dohyo was not permitted to flush or compact (--attach-may settle)";
    Map<String, Object> answer = new LinkedHashMap<>();
    answer.put("seconds", (System.nanoTime() - began) / 1_000_000_000L);
    answer.put("flushed", flushed);
    answer.put("notes", List.of(note));
    answer.put("rows", attached.countRows());
    return answer;
  }

  /** Writes the servers' statistics into files of {@code folder}, if the account may read them. */
  static Map<String, ?> stats(Attached attached, Settings arguments) throws IOException {
    Path folder = Admin.folder(arguments);
    Map<String, List<String>> statistics;
    try {
      statistics = attached.statistics();
    } catch (Exception e) {
      return Map.of("refused", true); // not an error: a measurement does not need the statistics
    }
    for (Map.Entry<String, List<String>> each : statistics.entrySet()) {
      Files.write(folder.resolve("stats-" + each.getKey() + ".txt"), each.getValue());
    }
    return Map.of();
  }

  static Map<String, ?> remove(Attached attached, Settings arguments) throws Exception {
    boolean there = attached.exists();
    String left = "";
    if (there) {
      List<String> foreign = attached.foreign();
      if (!foreign.isEmpty()) {
        throw new IOException("%s contains %s, which this run did not create; nothing was removed"
            .formatted(attached.what(), String.join(", ", foreign)));
      }
      left = attached.remove();
    }
    Files.delete(Attached.made(arguments));
    return Map.of("removed", there, "what", attached.what(), "left", left);
  }

  static Map<String, ?> doctor(Attached attached, Settings arguments) throws Exception {
    long[] nanos = new long[PINGS];
    for (int i = 0; i < PINGS; i++) {
      long began = System.nanoTime();
      attached.ping();
      nanos[i] = System.nanoTime() - began;
    }
    Arrays.sort(nanos);
    long before = System.currentTimeMillis();
    long clock = attached.clock();
    long after = System.currentTimeMillis();
    Map<String, Object> answer = new LinkedHashMap<>(attached.conditions());
    answer.put("what", attached.what());
    answer.put("exists", attached.exists());
    answer.put("missing", attached.missingRights());
    answer.put("median_ms", nanos[PINGS / 2] / NANOS_PER_MILLI);
    answer.put("slowest_ms", nanos[PINGS - 1] / NANOS_PER_MILLI);
    // Difference between the server's clock and this host's. The server read its clock at an unknown time during the
    // request, so the maximum error is half of the request's duration.
    answer.put("clock_ms", clock < 0 ? null : clock - (before + after) / 2);
    answer.put("clock_error_ms", (after - before) / 2);
    return answer;
  }
}
