package dohyo.client;

import dohyo.workload.OperationType;

/**
 * Series of latencies. Each operation type, outcome and kind of latency (measured or intended) has its own histogram.
 * The names are those of YCSB's result lines: {@code READ}, {@code READ-FAILED} or {@code Intended-READ}.
 */
enum Series {
  OK(""), NOT_FOUND("-NOT_FOUND"), FAILED("-FAILED");

  static final int COUNT = OperationType.values().length * values().length * 2;

  private final String suffix;

  Series(String suffix) {
    this.suffix = suffix;
  }

  int index(OperationType type, boolean intended) {
    return (type.ordinal() * values().length + ordinal()) * 2 + (intended ? 1 : 0);
  }

  static String name(int index) {
    OperationType type = OperationType.values()[index / 2 / values().length];
    Series result = values()[index / 2 % values().length];
    return (index % 2 == 1 ? "Intended-" : "") + type.label() + result.suffix;
  }
}
