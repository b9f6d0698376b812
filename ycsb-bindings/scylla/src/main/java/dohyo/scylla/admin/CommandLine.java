package dohyo.scylla.admin;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** Options of Seastar on the command line of a running server. The table system.config does not contain them. */
final class CommandLine {
  /** Note on each option that affects measurements. */
  private static final Map<String, String> NOTES = new TreeMap<>(Map.of(
      "kernel-page-cache", "reads and writes use the page cache of the kernel",
      "overprovisioned", "cores are shared with other processes",
      "poll-mode", "cores are always busy, so processor time is meaningless",
      "unsafe-bypass-fsync", "fsync is ignored, so nothing is forced to disk"));
  private static final Set<String> OFF = Set.of("0", "false", "no", "off");

  private final Map<String, String> options = new TreeMap<>();

  /** Reads the arguments of the process: --name, --name value or --name=value. */
  CommandLine(List<String> arguments) {
    String name = "";
    for (String argument : arguments) {
      if (argument.startsWith("--")) {
        String[] parts = argument.substring(2).split("=", 2);
        name = parts[0];
        options.put(name, parts.length > 1 ? parts[1] : "");
      } else if (options.getOrDefault(name, "unknown").isEmpty()) {
        options.put(name, argument);
      }
    }
  }

  /** Returns whether fsync works, so that an acknowledged write can be on disk. */
  boolean forcesToDisk() {
    return !isOn("unsafe-bypass-fsync");
  }

  /** Returns notes on options that affect measurements, to be reported with the conditions. */
  List<String> notes() {
    List<String> notes = new ArrayList<>();
    NOTES.forEach((option, note) -> {
      if (isOn(option)) {
        notes.add(note + " (--" + option + ")");
      }
    });
    if (pollsWhileIdle() && !isOn("poll-mode")) {
      notes.add("idle cores poll before they sleep, so processor time includes waiting (no --overprovisioned)");
    }
    if (options.keySet().stream().noneMatch(option -> option.startsWith("io-properties"))) {
      notes.add("the speed of the disk is unknown (no --io-properties-file)");
    }
    return notes;
  }

  /** Returns whether idle cores poll. The default is 200 µs, 2,000 in a VM, 0 with --overprovisioned (reactor.cc). */
  private boolean pollsWhileIdle() {
    String microseconds = options.get("idle-poll-time-us");
    return microseconds == null ? !options.containsKey("overprovisioned") : !microseconds.equals("0");
  }

  private boolean isOn(String option) {
    return options.containsKey(option) && !OFF.contains(options.get(option));
  }
}
