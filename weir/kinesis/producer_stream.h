// One stream of a producer. Inside of the producer only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/kinesis/buffer_quota.h"
#include "weir/kinesis/metrics/producer_metrics.h"
#include "weir/kinesis/pipeline/flushes.h"
#include "weir/kinesis/pipeline/pipeline.h"
#include "weir/kinesis/producer.h"
#include "weir/kinesis/producer_events.h"

namespace weir::kinesis {

/// The callback of a record without a result, and the space and the epoch that the record leaves
/// when the callback gets the result.
struct PendingRecord {
  PutDone done;
  BufferQuota::Tenant tenant;  ///< the tenant that took its space
  std::size_t bytes = 0;
  std::uint64_t epoch = 0;  ///< the stream's epoch in which it was put
  PutOrigin origin;
  /// A caller of PutBlocking waits for `done`, which only wakes this caller. So `done` needs no
  /// executor.
  bool is_awaited = false;
};

/// A record that was accepted and has not reached its pipeline.
struct Incoming {
  UserRecord record;
  PendingRecord pending;
};

/// Stores pending records under small numbers, which are reused. Not thread-safe.
class PendingTable {
 public:
  /// Stores a pending record. Returns its number.
  std::uint64_t Add(PendingRecord pending);
  /// Removes and returns a pending record. REQUIRES: Add returned this number, and it was not taken
  /// since.
  PendingRecord Take(std::uint64_t number);
  /// Removes and returns a pending record without its bytes, which its tenant occupies until Take.
  /// REQUIRES: as Take; at most once for each number.
  PendingRecord TakeAllButBytes(std::uint64_t number);
  /// Prefetches a pending record that is taken soon. Pending records are far apart in memory, and
  /// one that is not in the processor's cache delays Take by 100 ns.
  void Prefetch(std::uint64_t number) const { __builtin_prefetch(&records_[number], 1); }

 private:
  std::vector<PendingRecord> records_;
  std::vector<std::uint64_t> free_;
};

class Producer::Stream {
 public:
  Stream(StreamAddress stream_address, std::size_t stream_number, Pipeline stream_pipeline,
         StreamMetrics& stream_metrics, Log& log)
      : address(std::move(stream_address)),
        number(stream_number),
        pipeline(std::move(stream_pipeline)),
        metrics(stream_metrics),
        events(log, address.name.empty() ? address.arn : address.name),
        shards(pipeline.shards()) {}

  const StreamAddress address;
  const std::size_t number;  ///< in the BufferQuota

  // Used by tasks of the scheduler only.
  Pipeline pipeline;
  StreamMetrics& metrics;
  ProducerEvents events;
  PendingTable pending_table;
  bool is_in_ring = false;
  std::optional<std::pair<Instant, TimerId>> timer;

  // Guarded by the producer's lock.
  std::vector<Incoming> inbox;
  Epochs epochs;
  PipelineCounts counts;
  std::shared_ptr<const ShardRanges> shards;  ///< those of the pipeline's latest listing
};

/// Moves the times of the record as if it were put at `now`: the time that it waited for space does
/// not count.
void BeginAt(Incoming& incoming, Instant now);

/// Converts to nanoseconds; a time beyond their range becomes the longest one.
nanoseconds Saturated(milliseconds time);

/// Checks and hashes a record that is put now. kInvalidArgument, with the reason: the record can
/// never be put.
[[nodiscard]] Result<Incoming> MakeIncoming(const ProducerConfig& config, const Clock& clock,
                                            Record record, PutDone done);

}  // namespace weir::kinesis
