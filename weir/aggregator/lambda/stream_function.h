// Counts the usage in the events that AWS Lambda delivers: one execution environment of a function.
// Mechanism: docs/design/aggregator.md, "The Lambda function".
//
//   Handle --> the lease: held, or claimed ----------> BatchRun --> response: all, or the first
//                |                                                  record that is not applied
//                +--> another aggregator counts, or
//                     out of time --------------------------------> error of the invocation
#pragma once

#include <memory>
#include <string>

#include "weir/aggregator/daemon/archive_store.h"
#include "weir/aggregator/lease/aggregator_lease.h"
#include "weir/aggregator/protocol/aggregator_batch.h"
#include "weir/base/done.h"
#include "weir/dynamodb/table.h"
#include "weir/runtime/scheduler.h"

namespace weir::dynamo {

/// All of it must outlive the function and the call of `idle`.
struct FunctionParts {
  Table& table;
  Scheduler& scheduler;
  /// Receives the events of the aggregator and its lease, and "lambda.batch" (info: request,
  /// records, applied, updates, conflicts, refills, divisions, archived).
  Log& log;
  ArchiveStore* archive = nullptr;  ///< null: expired audit events are not archived
};

struct FunctionOptions {
  AggregatorOptions aggregator;
  LeaseOptions lease;  ///< all environments of a function have the same owner
};

struct StreamInvocation {
  std::string id;
  std::string event;
  Deadline deadline;  ///< for the response
};

/// Thread-safe. The process may be suspended between two invocations for any time, also on a
/// machine whose monotonic clock stops then.
class StreamFunction {
 public:
  /// `seed` determines random pauses.
  StreamFunction(const FunctionParts& parts, FunctionOptions options, std::uint64_t seed);
  ~StreamFunction();
  StreamFunction(const StreamFunction&) = delete;
  StreamFunction& operator=(const StreamFunction&) = delete;

  /// Counts the records of an event. `done` runs on the scheduler's thread, by the deadline, with
  /// the response (BatchResponse), or with an error of the whole batch: kDataLoss (see
  /// ReadStreamEvent), kFailedPrecondition (another aggregator counts the table, or see
  /// CheckSource) or kDeadlineExceeded (the lease was not acquired in time). REQUIRES: no
  /// invocation is in progress.
  void Handle(StreamInvocation invocation, Done<std::string> done);
  /// `idle` runs on the scheduler's thread, without an error, when no request is in flight. No
  /// other call may follow. REQUIRES: no invocation is in progress.
  void Stop(Done<void> idle);

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace weir::dynamo
