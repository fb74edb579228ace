// Runs a StreamReader, blocking.
#pragma once

#include <functional>
#include <vector>

#include "weir/aws/json_client.h"
#include "weir/base/result.h"
#include "weir/kinesis/reader/stream_reader.h"
#include "weir/runtime/scheduler.h"

namespace weir::kinesis {

/// Objects and functions that are used during the call and not owned.
struct ReadParts {
  JsonClient& client;
  Scheduler& scheduler;
  /// Gets records as they come, on the calling thread; no request is sent meanwhile. Returns false
  /// to stop.
  std::function<bool(std::vector<StreamRecord>)> take;
  /// Returns true to stop. Called several times per second while there is no response.
  std::function<bool()> interrupted;
  /// Called when requests have failed and are retried, with the first of these failures, and with
  /// null when all of them have succeeded. May be empty.
  std::function<void(const Error*)> failing{};
};

/// Blocks until the reader is done, `take` returns false or `interrupted` returns true; then until
/// the requests in flight have ended, at most half a minute unless the client gives up earlier
/// (ConnectionOptions::gives_up). Must not be called from a task of the scheduler. Returns the
/// reader's error.
[[nodiscard]] Status ReadStream(StreamReader& reader, const ReadParts& parts);

}  // namespace weir::kinesis
