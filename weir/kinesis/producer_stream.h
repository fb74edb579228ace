// One stream of a producer. Inside of the producer only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/kinesis/buffer_quota.h"
#include "weir/kinesis/flushes.h"
#include "weir/kinesis/producer.h"
#include "weir/kinesis/producer_events.h"
#include "weir/kinesis/producer_metrics.h"

namespace weir::kinesis {

/// What a record owes: its result to its caller, its place to the room, and to Flush that it is
/// through.
struct Debt {
  PutDone done;
  BufferQuota::Tenant tenant;  ///< that gets its room back
  std::size_t bytes = 0;
  std::uint64_t epoch = 0;  ///< of its stream
  PutOrigin origin;
  bool is_awaited = false;  ///< PutBlocking waits in `done`, which only wakes it
};

/// A record that was taken and has not reached its pipeline.
struct Incoming {
  UserRecord record;
  Debt debt;
};

/// Debts by small numbers that are used again. A value.
class Ledger {
 public:
  std::uint64_t Add(Debt debt);
  /// REQUIRES: Add gave this number, and nobody has taken it since.
  Debt Take(std::uint64_t number);
  /// As Take, but its bytes are owed to its tenant until Take. REQUIRES: as Take; once for each
  /// number.
  Debt TakeAllButBytes(std::uint64_t number);
  /// This number is taken soon. Debts are far apart in memory, and one that is not in the
  /// processor's cache delays Take for 100 ns.
  void Prefetch(std::uint64_t number) const { __builtin_prefetch(&debts_[number], 1); }

 private:
  std::vector<Debt> debts_;
  std::vector<std::uint64_t> free_;
};

class Producer::Stream {
 public:
  Stream(StreamAddress to, std::size_t as, Pipeline through, StreamMetrics& tells, Log& log)
      : address(std::move(to)),
        number(as),
        pipeline(std::move(through)),
        metrics(tells),
        events(log, address.name.empty() ? address.arn : address.name),
        shards(pipeline.shards()) {}

  const StreamAddress address;
  const std::size_t number;  ///< to the room

  // For tasks of the scheduler.
  Pipeline pipeline;
  StreamMetrics& metrics;
  ProducerEvents events;
  Ledger ledger;
  bool is_in_ring = false;
  std::optional<std::pair<Instant, TimerId>> timer;

  // Guarded by the producer's lock.
  std::vector<Incoming> inbox;
  Epochs epochs;
  PipelineCounts counts;
  std::shared_ptr<const ShardRanges> shards;  ///< the pipeline's
};

/// As if it were put at `now`: the time in which it waited for room is none of its times.
void BeginAt(Incoming& incoming, Instant now);

/// In nanoseconds; what is beyond them stands for ever.
nanoseconds Saturated(milliseconds time);

/// A record that is put now. kInvalidArgument, naming what is wrong, where it can never be put.
[[nodiscard]] Result<Incoming> Receipt(const ProducerConfig& config, const Clock& clock,
                                       Record record, PutDone done);

}  // namespace weir::kinesis
