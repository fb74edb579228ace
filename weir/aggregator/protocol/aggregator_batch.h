// Values between an aggregator and its caller.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "weir/aggregator/archive/audit_archive.h"
#include "weir/aggregator/protocol/task_queue.h"
#include "weir/aggregator/refill/batch_upkeep.h"
#include "weir/base/result.h"
#include "weir/dynamodb/streams/change_record.h"
#include "weir/dynamodb/table.h"
#include "weir/model/usage.h"
#include "weir/runtime/deadline.h"

namespace weir::dynamo {

struct AggregatorOptions {
  std::vector<UsageWindow> windows{UsageWindow::kHourly, UsageWindow::kDaily};
  std::int64_t retention_days = 90;  ///< after the end of a window
  std::size_t max_in_flight = 16;    ///< requests of one batch
  int max_tries = 30;                ///< requests for one update, archive object or gap
  nanoseconds first_pause{50'000'000};
  nanoseconds longest_pause{2'000'000'000};
  bool refills = true;   ///< for clients of zae-limiter
  bool divides = true;   ///< busy buckets
  bool archives = true;  ///< expired audit events
};

/// Consecutive records of one shard of the stream.
struct RecordBatch {
  std::string stream_shard;
  std::span<const ChangeRecord> records;  ///< must live until the batch is done
  Deadline deadline;
};

/// A request for the caller: a write, or a put into the archive. Both may be repeated if their
/// response was lost.
struct AggregatorRequest {
  RequestId id = 0;
  std::variant<Write, ArchiveObject> body;
};

struct BatchCounts {
  std::size_t records = 0;    ///< in the batch
  std::size_t changes = 0;    ///< of limits, in the records that were planned
  std::size_t updates = 0;    ///< of usage items, by this batch
  std::size_t counted = 0;    ///< usage items that had counted all of their changes before
  std::size_t conflicts = 0;  ///< updates whose condition failed
  std::size_t retries = 0;    ///< requests after a failed condition or another failure
  std::size_t refills = 0;
  std::size_t lost_refills = 0;  ///< lost to another write, or failed
  std::size_t divisions = 0;     ///< that were requested
  std::size_t refused = 0;       ///< items left as they are: damaged, or unsupported features
  std::size_t archived = 0;      ///< audit events
};

/// The result of a batch. The first `applied` records are counted and archived, even after an
/// error.
struct BatchResult {
  std::size_t applied = 0;     ///< number of records
  std::string checkpoint;      ///< sequence number of the last applied record; empty: none is
  std::string failed_at;       ///< sequence number of the first record not applied; empty: all are
  std::optional<Error> error;  ///< why the record at `failed_at` is not applied; nothing: all are
  /// The record at `failed_at` itself cannot be counted: another try fails as well.
  bool is_bad_record = false;
  BatchCounts counts;
};

/// The work that an event causes.
struct AggregatorStep {
  std::vector<AggregatorRequest> requests;
  std::vector<Division> divisions;
  std::optional<BatchResult> done;  ///< the batch ended; later results of its requests are ignored
};

}  // namespace weir::dynamo
