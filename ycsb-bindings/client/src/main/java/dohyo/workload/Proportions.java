package dohyo.workload;

import dohyo.binding.SettingException;
import dohyo.binding.Settings;
import java.util.Map;

/** Proportions of the operations in the run phase ({@code readproportion} and so on), scaled to a sum of 1. */
final class Proportions {
  private final OperationType[] types;
  private final double[] upTo;

  /**
   * Reads the five proportions of CoreWorkload with its defaults (95 % reads, 5 % updates).
   *
   * @throws SettingException if one is not between 0 and 1, or all are 0
   */
  Proportions(Settings settings) {
    Map<OperationType, Double> given = new java.util.EnumMap<>(OperationType.class);
    given.put(OperationType.READ, settings.decimal("readproportion", 0.95, 0, 1));
    given.put(OperationType.UPDATE, settings.decimal("updateproportion", 0.05, 0, 1));
    given.put(OperationType.INSERT, settings.decimal("insertproportion", 0, 0, 1));
    given.put(OperationType.SCAN, settings.decimal("scanproportion", 0, 0, 1));
    given.put(OperationType.READ_MODIFY_WRITE, settings.decimal("readmodifywriteproportion", 0, 0, 1));
    given.values().removeIf(share -> share == 0);
    double sum = given.values().stream().mapToDouble(Double::doubleValue).sum();
    if (sum == 0) {
      throw new SettingException("readproportion=0 and all other proportions 0: at least one must be above 0");
    }
    types = given.keySet().toArray(OperationType[]::new);
    upTo = new double[types.length];
    double reached = 0;
    for (int i = 0; i < types.length; i++) {
      reached += given.get(types[i]) / sum;
      upTo[i] = reached;
    }
  }

  /** Returns the operation at a point from 0 (inclusive) to 1 (exclusive). */
  OperationType draw(double point) {
    int i = 0;
    while (i < types.length - 1 && point >= upTo[i]) {
      i++;
    }
    return types[i];
  }

  /** Returns the share of an operation, from 0 to 1. */
  double share(OperationType type) {
    double from = 0;
    for (int i = 0; i < types.length; i++) {
      if (types[i] == type) {
        return upTo[i] - from;
      }
      from = upTo[i];
    }
    return 0;
  }
}
