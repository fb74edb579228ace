// The producer of one stream without I/O: puts and responses go in; requests, results and the next
// wake-up come out. Mechanism: docs/design/kinesis.md.
//
// The way of a user record. Names that end in an underscore are the members that store it:
//
//   Put --> unmapped_           until the first listing has ended
//    |         |
//    +---------+--> aggregator_ <------- retries_ <------+ retry
//                       |                                |
//                       v                                |
//                     gate_ <------ ordered_retries_ <-----+ retry in ordered mode
//                       |  (in ordered mode only)        |
//                       v                                |
//                     lanes_  (shard limiters)           |
//                       |                                |
//                       v                                |
//                     budget_  (with a shared budget)    |
//                       |                                |
//                       v                                |
//                   collector_                           |
//                       |                                |
//                       v                                |
//                     window_ --> in flight --> OnAnswer +
//                                                  |
//                                                  v stored     listing ended
//                             result <------ CheckStored <--------------------+
//                                                  |                          |
//                                                  +--> parked_ --------------+
//                                            (range of the shard not known)
//
// A record that expires in one of these stages gets its result there (ExpireWaiting); user records
// of the same Kinesis record that have not expired go back to aggregator_ or, in ordered mode, to
// gate_.
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
#include "weir/kinesis/pipeline/aggregator.h"
#include "weir/kinesis/pipeline/budget_gate.h"
#include "weir/kinesis/pipeline/collector.h"
#include "weir/kinesis/pipeline/order_gate.h"
#include "weir/kinesis/pipeline/refusal_pace.h"
#include "weir/kinesis/pipeline/request_window.h"
#include "weir/kinesis/pipeline/retry_policy.h"
#include "weir/kinesis/pipeline/shard_limiter.h"
#include "weir/kinesis/pipeline/shard_map.h"
#include "weir/kinesis/pipeline/shard_sightings.h"

namespace weir::kinesis {

struct PipelineOptions {
  AggregatorOptions aggregator;
  ShardLimiterOptions limiter;
  CollectorOptions collector;
  RetryOptions retry;
  ShardMapOptions shards;
  RequestWindowOptions window;
  /// How long a retried record waits for batching; at most half of the time until it expires.
  nanoseconds retry_linger = milliseconds(50);
  /// If set, a shared budget is requested for the records of each shard:
  /// PipelineStep::budget_requests.
  std::optional<BudgetOptions> shared_budget = std::nullopt;
  /// If true, requests leave by TakeSend only, not with a step: if several pipelines share
  /// connections, each keeps the requests that have no connection, and their records expire there.
  bool sends_on_demand = false;
  bool ordered = false;  ///< records of one hash key are stored in the order of their puts
  /// A record stored on a shard whose range is still unknown after this number of listings is sent
  /// again, if it is an aggregate of several hash keys.
  int most_listings = 3;
};

/// The result of one user record.
struct RecordResult {
  std::uint64_t number = 0;  ///< as UserRecord::number
  bool stored = false;
  std::optional<ShardId> shard;  ///< the shard that stored it
  std::string sequence_number;   ///< of its Kinesis record
  /// Its index in an aggregate; nothing if it was not aggregated.
  std::optional<std::uint64_t> sub_number;
  Attempts attempts;
  /// It may be stored more than once or, if it failed, once.
  bool maybe_duplicate = false;
  bool is_in_flight = false;  ///< it expired before its request had a response
};

/// A record in flight has its result at most this long after its expiry.
inline constexpr nanoseconds kLastWait = std::chrono::seconds(1);

/// The response of the service for one entry of a request.
struct EntryAnswer {
  std::string shard;  ///< its name, if the entry was stored
  std::string sequence_number;
  std::string code;  ///< if it was not
  std::string message;
};
using PutAnswer = tl::expected<std::vector<EntryAnswer>, AwsFailure>;

/// The actions that follow an event. The caller carries them out.
struct PipelineStep {
  /// A PutRecords request. `records` are valid until OnAnswer for this id, or Close.
  struct Send {
    std::uint64_t id = 0;
    const std::vector<KinesisRecord>* records = nullptr;
  };
  std::vector<Send> sends;
  /// Send ListShards for the page of this token (empty: the first), then OnListed.
  std::optional<std::string> list;
  std::vector<BudgetRequest>
      budget_requests;  ///< send these budget requests, then OnBudget for each
  std::vector<RecordResult> results;
  /// The numbers of records that had a result while in flight (is_in_flight), and whose requests
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
  std::uint64_t throttled = 0;  ///< Kinesis records that were refused for a rate
  std::uint64_t retries = 0;    ///< of user records
};

/// A state machine without I/O; not thread-safe. Each record that was put gets exactly one result.
/// A record in flight gets it at most kLastWait after it expires. Another record gets it when it
/// expires or, if a budget request for it is pending then, when that is decided.
class Pipeline {
 public:
  /// `seed` should differ between pipelines: random waits depend on it.
  Pipeline(const PipelineOptions& options, std::uint64_t seed);

  /// Adds a record. REQUIRES: its number, hash, deadline and expiry are set.
  PipelineStep Put(UserRecord record, Instant now);
  /// Adds several records, in this order.
  PipelineStep PutAll(std::vector<UserRecord> records, Instant now);
  /// Handles the response to a request. A response to an id that is not in flight is ignored.
  PipelineStep OnAnswer(std::uint64_t id, PutAnswer answer, Instant now);
  /// Handles the response to ListShards, for one page.
  PipelineStep OnListed(Result<ShardPage> page, Instant now);
  /// Handles the decision on a budget request. A caller whose request failed passes a granted
  /// decision.
  PipelineStep OnBudget(ShardId shard, const BudgetDecision& decision, Instant now);
  /// Performs the work that is due at `now`.
  PipelineStep OnWake(Instant now) { return Advance(now); }
  /// Sends the records that it holds without waiting for batching; they still wait for the rates of
  /// their shards. This lasts until no record is pending, or until EndFlush.
  PipelineStep Flush(Instant now);
  /// From now on records wait for batching again, even if records of the Flush are pending.
  void EndFlush() { is_flushing_ = false; }
  /// Gives each record its result now; the results of records in flight say that they may have been
  /// stored. Responses that come later are ignored.
  PipelineStep Close(Instant now);

  /// Returns the size in bytes of the request that TakeSend would return; nothing if none may be
  /// sent now.
  std::optional<std::size_t> NextSend(Instant now) const;
  /// Returns the next request and counts it as in flight; nothing if none may be sent now.
  std::optional<PipelineStep::Send> TakeSend(Instant now);

  /// Returns the request in flight with this id; null if there is none. Valid until OnAnswer or
  /// Close.
  const RequestWindow::Flight* FindInFlight(std::uint64_t id) const { return window_.Find(id); }
  /// As ShardMap::ranges: immutable, and may be shared with other threads.
  const std::shared_ptr<const ShardRanges>& shards() const { return map_.ranges(); }
  /// Returns the number of user records without a result.
  std::size_t pending() const { return pending_; }
  const PipelineCounts& counts() const { return counts_; }

 private:
  using ExpectedShard = std::optional<ShardId>;
  /// The limiter of one shard, or of all records whose shard is not known. The latter admits the
  /// rate of as many shards as have responded for such records.
  struct Lane {
    ShardLimiter limiter;
    std::optional<Instant> wake;  ///< its entry in lane_wakes_
  };
  /// A record that is stored on a shard whose range is not known, so that it is not known whether
  /// consumers deliver it.
  struct Parked {
    KinesisRecord record;
    Attempt attempt;  ///< with the shard
    std::string sequence_number;
    int listings = 0;  ///< number of listings since then that did not return the range
  };
  /// In ordered mode: the user records of a Kinesis record that are retried together. The Kinesis
  /// record keeps its positions in the gate until then.
  struct OrderedRetry {
    OrderGate::Ticket ticket = 0;
    std::vector<UserRecord> records;
  };

  // pipeline.cc: from a put to a request.
  /// Performs all work that is due and returns the step. Every event ends with it.
  PipelineStep Advance(Instant now);
  /// Adds a record that was put, without the work that follows.
  void AddRecord(UserRecord record, Instant now);
  /// Returns until when a record may wait for batching and still be sent in time: for half of the
  /// time until it expires.
  static Instant InTime(Instant now, Instant expires);
  /// Stores a record until the first listing has ended.
  void AddUnmapped(UserRecord record);
  /// Aggregates the records that waited for the first listing.
  void AggregateUnmapped();
  /// Adds the record to the batch of its shard, by the present shard map.
  void AggregateRecord(UserRecord record);
  /// Moves aggregated_ to passed_, in ordered mode through the gate.
  void PassGate();
  /// Moves passed_ through the shard limiters, and drains the limiters that are due.
  void PassLimiters(Instant now);
  /// Returns the limiter for this shard; creates it if there is none.
  Lane& LaneOf(ExpectedShard expected, Instant now);
  void CollectRecords(std::vector<KinesisRecord> records, Instant now);
  /// Moves the records that the limiter admits now to the budget gate or the collector.
  void DrainLane(ExpectedShard expected, Lane& lane, Instant now);
  /// Returns whether the refusal pace lets a request leave.
  bool MaySend(Instant now) const;
  /// Returns the earliest time for which a stage waits, without the refusal pace.
  std::optional<Instant> NextWake() const;

  // pipeline_answers.cc: from a response to results.
  /// Handles the response for one Kinesis record.
  void OnEntry(KinesisRecord record, EntryAnswer answer, Attempt attempt);
  /// Handles the failure of a whole request.
  void OnRequestFailed(RequestWindow::Flight flight, const AwsFailure& failure, Instant now);
  /// Halves a request that was refused for its content; both halves are sent before other requests.
  void SendInHalves(Collector::Request records, const Attempts::Shared& attempt);
  /// Adds the attempt to all user records of the request, as one that says nothing about them.
  static void AddHalvingAttempt(Collector::Request& records, const Attempts::Shared& attempt);
  /// A listing has ended: removes limiters of closed shards, reroutes records without a shard, and
  /// judges the parked records again.
  void ApplyShardList(Instant now);
  /// Aggregates again the records that were put without a shard.
  void RerouteWithoutShard(Instant now);
  /// Aggregates again the records in the limiter of the records without a shard.
  void RerouteLaneWithoutShard(Instant now);
  /// Sets the rate of that limiter by the number of shards that have responded lately.
  void SetRateWithoutShard(Instant now);
  /// Decides about a stored record: succeeded, to be sent again, or parked.
  void CheckStored(Parked parked, Instant now);
  /// Decides about a stored record whose shard's range will not be known.
  void GiveUpListing(Parked parked, Instant now);
  /// Returns the results of all user records of a stored record.
  void ReportStored(KinesisRecord record, const Attempts::Shared& attempt,
                    const std::string& sequence_number);

  // pipeline_retries.cc: retries, expiry and failure.
  /// Schedules the retry of the user records that may be retried, and fails the others.
  void TryAgain(KinesisRecord record, const Attempts::Shared& attempt, FailureClass kind,
                Instant now);
  /// Returns whether a user record is retried before it expires, if the retry is within the budget.
  bool WouldBeSentAgain(const std::vector<UserRecord>& records, const Attempts::Shared& attempt,
                        FailureClass kind, Instant now) const;
  /// Stores the user records of one Kinesis record until their retry at `at`; ends its ticket if
  /// there are none.
  void ScheduleRetry(OrderGate::Ticket ticket, std::vector<UserRecord> rest, Instant at);
  /// Aggregates the records whose retry is due.
  void AggregateDueRetries(Instant now);
  /// Makes Kinesis records of these user records by the present shard map, apart from aggregator_.
  std::vector<KinesisRecord> AggregateApart(std::vector<UserRecord> records);
  /// Gives up waiting for a listing for parked records that have expired.
  void GiveUpExpired(Instant now);
  /// Expires records that wait before the first listing, in the gate, the budget gate or the
  /// window.
  void ExpireWaiting(Instant now);
  void ExpireUnmapped(Instant now);
  /// Returns results for records in flight whose request has no response kLastWait after their
  /// expiry, because of younger records in the same request.
  void ReportOverdue(Instant now);
  /// If the record had its result while in flight, reports it as released and returns true.
  bool ReleaseIfReported(const UserRecord& record);
  /// Ends a Kinesis record that expired or is rerouted: its expired user records fail, the others
  /// go on.
  void ExpireRecord(KinesisRecord record, Instant now);
  /// Ends the ticket of these user records: those that have expired fail, the others go on.
  void ReframeUnexpired(OrderGate::Ticket ticket, std::vector<UserRecord> records, Instant now);
  /// Fails a record with the attempt "Expired".
  void FailExpired(UserRecord record, Instant now);
  /// Returns the result of a record that failed.
  void FailRecord(UserRecord record);
  /// Adds the attempt to all records and fails them.
  void FailAll(std::vector<UserRecord> records, const Attempts::Shared& attempt, bool maybe_stored);

  PipelineOptions options_;
  Rng rng_;
  ShardMap map_;
  std::optional<Instant> map_wake_;
  // Records that were put before the first listing ended, in this order. The rates of their shards
  // cannot be applied yet.
  std::vector<UserRecord> unmapped_;
  Instant unmapped_expire_{};  // the earliest expiry of unmapped_
  // Records that wait for a retry, by its time. ordered_retries_ in ordered mode, else retries_.
  std::multimap<Instant, UserRecord> retries_;
  std::multimap<Instant, OrderedRetry> ordered_retries_;
  Aggregator aggregator_;
  std::optional<OrderGate> gate_;
  std::map<ExpectedShard, Lane> lanes_;
  // Lanes with waiting records, by the time at which they are due.
  std::set<std::pair<Instant, ExpectedShard>> lane_wakes_;
  ShardSightings sightings_;  // shards that responded for records whose shard was not known
  std::optional<BudgetGate> budget_;
  Collector collector_;
  RequestWindow window_;
  std::multimap<Instant, Parked> parked_;  // by expiry
  RetryBudget retry_budget_;
  RefusalPace refusal_pace_;
  // Records on their way within one event; empty between events.
  std::vector<KinesisRecord> aggregated_;  // to the gate, in ordered mode, else to passed_
  std::vector<KinesisRecord> passed_;      // to the shard limiters
  // Granted by the budget; to the collector after ExpireWaiting: their budget is spent, so they are
  // sent even if they have expired meanwhile.
  std::vector<KinesisRecord> granted_;
  std::vector<RecordResult> results_;
  std::vector<std::uint64_t> released_;
  PipelineCounts counts_;
  std::size_t pending_ = 0;
  bool is_flushing_ = false;  ///< a Flush is pending: nothing waits for batching
};

}  // namespace weir::kinesis
