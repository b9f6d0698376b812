package dohyo.aerospike;

import com.aerospike.client.AerospikeException;
import com.aerospike.client.ResultCode;
import dohyo.binding.Outcome;
import java.lang.reflect.Field;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletionException;
import site.ycsb.Status;

/** Aerospike's result codes as statuses, each by the name of its constant in {@link ResultCode}. */
final class ResultCodes {
  private static final Map<Integer, Status> STATUSES = statuses();

  private ResultCodes() {
  }

  /** The status of a result code: TIMEOUT, KEY_BUSY, DEVICE_OVERLOAD, … */
  static Status status(int code) {
    Status known = STATUSES.get(code);
    return known != null ? known : new Status("RESULT_CODE_" + code, ResultCode.getResultString(code));
  }

  /** The status of what a command has failed with. */
  static Status status(Throwable error) {
    Throwable cause = error instanceof CompletionException && error.getCause() != null ? error.getCause() : error;
    if (!(cause instanceof AerospikeException failure)) {
      return Outcome.of(cause);
    }
    Status status = status(failure.getResultCode());
    return Outcome.isError(status) ? new Status(status.getName(), failure.getMessage()) : status;
  }

  private static Map<Integer, Status> statuses() {
    Map<Integer, Status> statuses = new HashMap<>();
    try {
      for (Field constant : ResultCode.class.getFields()) {
        int code = constant.getInt(null);
        statuses.put(code, new Status(constant.getName(), ResultCode.getResultString(code)));
      }
    } catch (IllegalAccessException e) {
      throw new IllegalStateException("the driver's result codes cannot be read", e);
    }
    statuses.put(ResultCode.OK, Status.OK);
    statuses.put(ResultCode.KEY_NOT_FOUND_ERROR, Status.NOT_FOUND);
    return Map.copyOf(statuses);
  }
}
