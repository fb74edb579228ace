// The options, steps and counts of a Pipeline.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weir/kinesis/pipeline/aggregator.h"
#include "weir/kinesis/pipeline/budget_gate.h"
#include "weir/kinesis/pipeline/collector.h"
#include "weir/kinesis/pipeline/record_results.h"
#include "weir/kinesis/pipeline/request_window.h"
#include "weir/kinesis/pipeline/retry_policy.h"
#include "weir/kinesis/shards/shard_limiter.h"
#include "weir/kinesis/shards/shard_map.h"

namespace weir::kinesis {

struct PipelineOptions {
  AggregatorOptions aggregator;
  ShardLimiterOptions limiter;
  CollectorOptions collector;
  RetryOptions retry;
  ShardMapOptions shards;
  RequestWindowOptions window;
  /// How long a retried record waits for batching; at most half of the time until it expires. In
  /// ordered mode it does not wait.
  nanoseconds retry_linger = milliseconds(50);
  /// If set, a shared budget is requested for the records of each shard:
  /// PipelineStep::budget_requests.
  std::optional<BudgetOptions> shared_budget = std::nullopt;
  /// If true, requests leave by TakeSend only, not with a step. For several pipelines that share
  /// connections: each pipeline holds its requests until they get a connection, and their records
  /// can expire meanwhile.
  bool sends_on_demand = false;
  bool ordered = false;  ///< records of one hash key are stored in the order of their puts
  /// A record stored on a shard whose range is still unknown after this number of listings is sent
  /// again, if it is an aggregate of several hash keys.
  int max_listings = 3;
};

/// The actions that follow an event. The caller carries them out.
struct PipelineStep {
  /// A PutRecords request. `records` are valid until OnResponse for this id, or Close.
  struct Send {
    std::uint64_t id = 0;
    const std::vector<KinesisRecord>* records = nullptr;
  };
  std::vector<Send> sends;
  /// Send ListShards for the page of this token (empty: the first), then call OnListed.
  std::optional<std::string> list;
  /// Send these budget requests, then call OnBudget for each.
  std::vector<BudgetRequest> budget_requests;
  std::vector<RecordResult> results;
  /// The numbers of records that got their result while in flight (is_in_flight) and whose requests
  /// have ended now: the pipeline does not hold their data any more.
  std::vector<std::uint64_t> released;
  /// Call OnWake at this time or earlier; nothing: only after another event.
  std::optional<Instant> wake;
};

/// Counts since the pipeline was created. Records and requests that are sent again count again;
/// those that did not reach the service (no connection) do not count.
struct PipelineCounts {
  std::uint64_t kinesis_records = 0;
  std::uint64_t requests = 0;
  std::uint64_t throttled = 0;  ///< Kinesis records that were refused because of a rate
  std::uint64_t retries = 0;    ///< the retries of user records
};

}  // namespace weir::kinesis
