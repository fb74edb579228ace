// The events of a stream that the producer writes to the log (docs/design/log.md).
#pragma once

#include <string>

#include "weir/base/result.h"
#include "weir/kinesis/pipeline/budget_gate.h"
#include "weir/kinesis/pipeline/put_response.h"
#include "weir/kinesis/shards/shard_map.h"
#include "weir/telemetry/log.h"
#include "weir/telemetry/repeated_event.h"

namespace weir::kinesis {

/// Writes each kind of event at most once in 10 s, with the number of events that were suppressed.
/// Thread-safe. The log must outlive it.
class ProducerEvents {
 public:
  ProducerEvents(Log& log, std::string stream) : log_(log), stream_(std::move(stream)) {}

  void OnListed(const Result<ShardPage>& page, Instant now);
  void OnResponse(const PutResponse& response, Instant now);
  void OnBudget(const Result<BudgetDecision>& response, Instant now);

 private:
  void Warn(std::string_view event, RepeatedEvent& repeated, const Error& error, Instant now);

  static constexpr nanoseconds kInterval = std::chrono::seconds(10);
  Log& log_;
  const std::string stream_;
  RepeatedEvent listing_failed_{kInterval};
  RepeatedEvent request_failed_{kInterval};
  RepeatedEvent budget_failed_{kInterval};
};

}  // namespace weir::kinesis
