// Carries out what a StreamReader asks, blocking.
#pragma once

#include <functional>
#include <vector>

#include "weir/aws/json_client.h"
#include "weir/base/result.h"
#include "weir/kinesis/stream_reader.h"
#include "weir/runtime/scheduler.h"

namespace weir::kinesis {

/// All are used and not owned.
struct ReadParts {
  JsonClient& client;
  Scheduler& scheduler;
  /// Takes records as they come, on the thread that reads; nothing more is asked for meanwhile.
  /// False: enough.
  std::function<bool(std::vector<StreamRecord>)> take;
  /// True: stop. Asked several times a second while nothing comes.
  std::function<bool()> interrupted;
  /// Requests fail and are retried: the first of these failures. Null: all of them succeeded. May
  /// be empty.
  std::function<void(const Error*)> failing{};
};

/// Until the reader is done, enough was taken, or it is interrupted; then for the answers to what
/// is in flight, at most half a minute unless the client gives up (ConnectionOptions::gives_up).
/// Not from a task of the scheduler. The reader's error.
[[nodiscard]] Status ReadStream(StreamReader& reader, const ReadParts& parts);

}  // namespace weir::kinesis
