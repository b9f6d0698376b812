package dohyo.aerospike;

import com.aerospike.client.AerospikeException;
import com.aerospike.client.ResultCode;
import dohyo.binding.Outcome;
import java.util.Locale;
import site.ycsb.Status;

/** Converts Aerospike's result codes to statuses, which are named after the driver's texts for the codes. */
final class ResultCodes {
  private ResultCodes() {
  }

  /** Returns the status of a result code, such as TIMEOUT, HOT_KEY or DEVICE_OVERLOAD. */
  static Status status(int code) {
    return switch (code) {
      case ResultCode.OK -> Status.OK;
      case ResultCode.KEY_NOT_FOUND_ERROR -> Status.NOT_FOUND;
      default -> new Status(name(code), "result code " + code);
    };
  }

  /** Returns the status for the exception of a failed command. */
  static Status status(Throwable error) {
    if (!(Outcome.cause(error) instanceof AerospikeException failure)) {
      return Outcome.of(error);
    }
    Status status = status(failure.getResultCode());
    return Outcome.isError(status) ? new Status(status.getName(), failure.getMessage()) : status;
  }

  private static String name(int code) {
    String text = ResultCode.getResultString(code);
    return text.isEmpty() ? "RESULT_CODE_" + code
        : text.toUpperCase(Locale.ROOT).replace("'", "").replaceAll("[^A-Z0-9]+", "_");
  }
}
