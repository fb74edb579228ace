// One stream's producer without I/O: puts and answers go in; requests, results and the next wake-up
// come out. Mechanism: docs/design/kinesis.md.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "weir/aws/failure.h"
#include "weir/kinesis/aggregator.h"
#include "weir/kinesis/budget_gate.h"
#include "weir/kinesis/collector.h"
#include "weir/kinesis/order_gate.h"
#include "weir/kinesis/refusal_pace.h"
#include "weir/kinesis/request_window.h"
#include "weir/kinesis/retry_policy.h"
#include "weir/kinesis/shard_limiter.h"
#include "weir/kinesis/shard_map.h"
#include "weir/kinesis/shard_sightings.h"

namespace weir::kinesis {

struct PipelineOptions {
  AggregatorOptions aggregator;
  ShardLimiterOptions limiter;
  CollectorOptions collector;
  RetryOptions retry;
  ShardMapOptions shards;
  RequestWindowOptions window;
  /// The linger of a retried record; it ends before the record expires.
  nanoseconds retry_linger = milliseconds(50);
  /// What goes to a shard is asked for first: PipelineStep::asks.
  std::optional<BudgetOptions> shared_budget = std::nullopt;
  /// Requests leave by TakeSend alone, not with a step: of several pipelines that share
  /// connections, each keeps what has none, and lets it expire.
  bool sends_on_demand = false;
  bool ordered = false;   ///< what has one hash key is stored in the order of its puts
  int most_listings = 3;  ///< after so many that do not tell a shard's range it is sent again
};

/// What became of one user record.
struct RecordResult {
  std::uint64_t number = 0;
  bool stored = false;
  std::optional<ShardId> shard;             ///< where
  std::string sequence_number;              ///< of its Kinesis record
  std::optional<std::uint64_t> sub_number;  ///< its place in an aggregate
  Attempts attempts;
  bool maybe_duplicate = false;  ///< stored more often than once, or, where it failed, perhaps once
  bool is_in_flight = false;     ///< it expired before its request was answered
};

/// A record in flight waits for the answer this long after it has expired, and no longer.
inline constexpr nanoseconds kLastWait = std::chrono::seconds(1);

/// The service's answer for one entry of a request.
struct EntryAnswer {
  std::string shard;  ///< its name, if the entry was stored
  std::string sequence_number;
  std::string code;  ///< if it was not
  std::string message;
};
using PutAnswer = tl::expected<std::vector<EntryAnswer>, AwsFailure>;

/// What is to be done after an event. `send` lends the records until OnAnswer.
struct PipelineStep {
  struct Send {
    std::uint64_t id = 0;
    const std::vector<KinesisRecord>* records = nullptr;
  };
  std::vector<Send> sends;
  std::optional<std::string> list;  ///< send ListShards for the page of this token
  std::vector<BudgetAsk> asks;      ///< then OnBudget
  std::vector<RecordResult> results;
  /// Numbers of records with an earlier result in flight, whose requests have ended: the pipeline
  /// holds them no more.
  std::vector<std::uint64_t> released;
  std::optional<Instant> wake;  ///< call OnWake then, at the latest
};

/// Since the pipeline was made. What is sent again counts again; what surely did not reach the
/// service (no connection) is taken out again.
struct PipelineCounts {
  std::uint64_t kinesis_records = 0;
  std::uint64_t requests = 0;
  std::uint64_t throttled = 0;  ///< Kinesis records that were refused for a rate
  std::uint64_t retries = 0;    ///< of user records
};

/// Each record that was put gets exactly one result: in flight at most kLastWait after it expires,
/// else when it expires or, if its shared budget is asked for it then, when that answers. A value;
/// not thread-safe.
class Pipeline {
 public:
  Pipeline(const PipelineOptions& options, std::uint64_t seed);

  /// `record` has its hash, deadline and expiry.
  PipelineStep Put(UserRecord record, Instant now);
  PipelineStep PutAll(std::vector<UserRecord> records, Instant now);
  /// Of a request that is not known (any more) nothing is heeded.
  PipelineStep OnAnswer(std::uint64_t id, PutAnswer answer, Instant now);
  PipelineStep OnListed(Result<ShardPage> page, Instant now);
  PipelineStep OnBudget(ShardId shard, const BudgetDecision& decision, Instant now);
  PipelineStep OnWake(Instant now) { return Go(now); }
  /// What is there now does not wait for company; it still waits for the shards' rates.
  PipelineStep Flush(Instant now);
  /// What is put from now on waits for company again, also where Flush is not through.
  void EndFlush() { hurries_ = false; }
  /// Gives everything its result now: what is under way may have been stored. Answers that come
  /// later are not heeded.
  PipelineStep Close(Instant now);

  /// The bytes of what TakeSend would give; nothing: no request may go now.
  std::optional<std::size_t> NextSend(Instant now) const;
  std::optional<PipelineStep::Send> TakeSend(Instant now);

  /// What was sent under this id; null where it is answered, or was never sent.
  const RequestWindow::Flight* UnderWay(std::uint64_t id) const { return window_.UnderWay(id); }
  /// ShardMap::ranges.
  const std::shared_ptr<const ShardRanges>& shards() const { return map_.ranges(); }
  /// User records without a result.
  std::size_t pending() const { return pending_; }
  const PipelineCounts& counts() const { return counts_; }

 private:
  using Place = std::optional<ShardId>;
  /// The limiter of one shard, or of the records without a known shard: then it admits the rate of
  /// as many shards as have answered for such records.
  struct Lane {
    ShardLimiter limiter;
    std::optional<Instant> wake;  ///< as it stands in lane_wakes_
  };
  /// Stored; nobody knows yet whether consumers will deliver it.
  struct Parked {
    KinesisRecord record;
    Attempt attempt;  ///< with the shard
    std::string sequence_number;
    int listings = 0;  ///< that did not tell
  };
  /// In ordered mode: what is left of a Kinesis record, which keeps its place until it is tried
  /// again.
  struct Held {
    OrderGate::Ticket ticket = 0;
    std::vector<UserRecord> records;
  };

  // pipeline.cc: the way to the service.
  PipelineStep Go(Instant now);
  void Take(UserRecord record, Instant now);
  /// Until when a record may wait for company and still be sent: half of the time that it has left.
  static Instant InTime(Instant now, Instant expires);
  void KeepNewcomer(UserRecord record);
  void TakeNewcomers();
  void Aggregate(UserRecord record);
  void PassGate();
  void Limit(Instant now);
  Lane& LaneOf(Place place, Instant now);
  void Collect(std::vector<KinesisRecord> records, Instant now);
  void Drain(Place place, Lane& lane, Instant now);
  bool MaySend(Instant now) const;
  std::optional<Instant> Wake() const;

  // pipeline_answers.cc: the way back.
  void OnEntry(KinesisRecord record, EntryAnswer answer, Attempt attempt);
  void OnRequestFailed(RequestWindow::Flight flight, const AwsFailure& failure, Instant now);
  void Bisect(Collector::Request records, const Attempts::Shared& attempt);
  static void Remember(Collector::Request& records, const Attempts::Shared& attempt);
  void ApplyShardList(Instant now);
  void RerouteUnplaced(Instant now);
  void PlaceLane(Instant now);
  void RateLane(Instant now);
  void Judge(Parked parked, Instant now);
  void GiveUp(Parked parked, Instant now);
  void Succeed(KinesisRecord record, const Attempts::Shared& attempt,
               const std::string& sequence_number);

  // pipeline_retries.cc: what is tried again, and what is not.
  void TryAgain(KinesisRecord record, const Attempts::Shared& attempt, FailureClass kind,
                Instant now);
  void Keep(OrderGate::Ticket ticket, std::vector<UserRecord> rest, Instant at);
  void TakeAgain(Instant now);
  std::vector<KinesisRecord> Reaggregate(std::vector<UserRecord> records);
  void GiveUpExpired(Instant now);
  void ExpireWaiting(Instant now);
  void ExpireNewcomers(Instant now);
  /// The service is silent, and younger records still wait for it.
  void ReportOverdue(Instant now);
  bool Release(const UserRecord& record);
  void Expire(KinesisRecord record, Instant now);
  /// What of a Kinesis record has not expired goes on.
  void FrameLiving(OrderGate::Ticket ticket, std::vector<UserRecord> records, Instant now);
  void FailExpired(UserRecord record, Instant now);
  void Fail(UserRecord record);
  void FailAll(std::vector<UserRecord> records, const Attempts::Shared& attempt, bool maybe_stored);

  PipelineOptions options_;
  Rng rng_;
  ShardMap map_;
  std::optional<Instant> map_wake_;
  // What was put before the first listing was answered, in its order. Its shards' rates could not
  // be heeded yet.
  std::vector<UserRecord> unmapped_;
  Instant newcomers_expire_{};  // the first of them
  std::multimap<Instant, UserRecord> again_;
  std::multimap<Instant, Held> held_;
  Aggregator aggregator_;
  std::optional<OrderGate> gate_;
  std::map<Place, Lane> lanes_;
  std::set<std::pair<Instant, Place>> lane_wakes_;
  ShardSightings sightings_;  // of records that were expected nowhere
  std::optional<BudgetGate> budget_;
  Collector collector_;
  RequestWindow window_;
  std::multimap<Instant, Parked> parked_;  // by their expiry
  RetryBudget retry_budget_;
  RefusalPace refusal_pace_;
  // On their way within one event.
  std::vector<KinesisRecord> aggregated_;  // to the gate, where there is one
  std::vector<KinesisRecord> passed_;      // to the lanes
  // By the budget: to the collector after what expired is taken out. They are paid for, so they are
  // sent although they may have expired meanwhile.
  std::vector<KinesisRecord> granted_;
  std::vector<RecordResult> results_;
  std::vector<std::uint64_t> released_;
  PipelineCounts counts_;
  std::size_t pending_ = 0;
  bool hurries_ = false;
};

}  // namespace weir::kinesis
