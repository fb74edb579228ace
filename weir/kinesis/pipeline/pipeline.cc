#include "weir/kinesis/pipeline/pipeline.h"

#include <algorithm>
#include <utility>

#include "weir/runtime/deadline.h"
#include "weir/runtime/earliest.h"

namespace weir::kinesis {
namespace {

/// A record whose budget is granted less than this time after its expiry is still sent: if a shard
/// has more load than it can take, each record is about to expire when its budget is requested.
constexpr nanoseconds kLateGrant = milliseconds(100);

/// Returns when a record in flight with this expiry gets its result at the latest; nothing if it
/// never expires.
std::optional<Instant> LatestResult(const std::optional<Instant>& expires) {
  if (!expires || Deadline::Never().at() - *expires < kLastWait) return std::nullopt;
  return *expires + kLastWait;
}

/// Returns when the wait of a record for batching ends: the other half of the time until it expires
/// is for sending it.
Instant EndOfBatching(Instant now, Instant expires) { return now + (expires - now) / 2; }

/// Returns the attempt, or the one of `seen` with the same error. Entries of one response often
/// fail alike; an attempt for each would take more memory than the records, and the producer's
/// quota does not count this memory.
Attempts::Shared ShareFailure(Attempt attempt, std::vector<Attempts::Shared>& seen) {
  constexpr std::size_t kMaxSeen = 16;
  const auto same = std::ranges::find_if(seen, [&](const Attempts::Shared& other) {
    return other->code == attempt.code && other->message == attempt.message;
  });
  if (same != seen.end()) return *same;
  auto shared = std::make_shared<const Attempt>(std::move(attempt));
  if (seen.size() < kMaxSeen) seen.push_back(shared);
  return shared;
}

Attempts::Shared ClosedAt(Instant now) {
  return std::make_shared<const Attempt>(
      Attempt{.began = now,
              .ended = now,
              .code = std::string(kClosed),
              .message = "the producer was closed before the record was stored"});
}

Attempts::Shared CutAt(Instant began, Instant now) {
  return std::make_shared<const Attempt>(
      Attempt{.began = began,
              .ended = now,
              .code = std::string(kClosed),
              .message = "the producer was closed before the response arrived"});
}

}  // namespace

Pipeline::Pipeline(const PipelineOptions& options, std::uint64_t seed)
    : options_(options),
      rng_(seed),
      map_(options.shards, rng_.Next()),
      framer_(options.aggregator, options.ordered),
      lanes_(options.limiter),
      requests_(options.collector, options.window),
      outcomes_(options.retry, options.max_listings) {
  if (options.shared_budget) budget_.emplace(*options.shared_budget, rng_.Next());
}

PipelineStep Pipeline::Put(UserRecord record, Instant now) {
  AddRecord(std::move(record), now);
  return Advance(now);
}

PipelineStep Pipeline::PutAll(std::vector<UserRecord> records, Instant now) {
  for (UserRecord& record : records) AddRecord(std::move(record), now);
  return Advance(now);
}

void Pipeline::AddRecord(UserRecord record, Instant now) {
  outcomes_.results().OnPut();
  record.deadline = std::min(record.deadline, EndOfBatching(now, record.expires));
  if (map_.has_listing()) {
    framer_.Put(std::move(record), *map_.ranges());
  } else {
    framer_.AddUnmapped(std::move(record));
  }
}

PipelineStep Pipeline::Flush(Instant now) {
  is_flushing_ = true;
  return Advance(now);
}

PipelineStep Pipeline::Advance(Instant now) {
  PipelineStep step;
  // The order matters: expired records leave before they could be sent. Granted records are
  // collected after that, so that they are sent even if they have expired.
  ExpireWaiting(now);
  requests_.Put(std::exchange(granted_, {}), now);
  FrameDueRetries(now);
  framer_.FrameDue(now);
  if (is_flushing_) framer_.FrameAll();
  PassLimiters(now);
  requests_.CloseDue(now);
  // While the rates of shards hold records back, records come in small portions, and a request for
  // each portion would be wasteful.
  if (is_flushing_ && !lanes_.is_waiting()) requests_.CloseAll();
  if (budget_) budget_->TakeRequests(now, step.budget_requests);
  if (!options_.sends_on_demand) TakeSends(now, step.sends);
  ShardMap::Step map = map_.Next(now);
  if (map.list) step.list = std::move(map.next_token);
  map_wake_ = map.wake;
  is_flushing_ = is_flushing_ && pending() > 0;
  step.results = outcomes_.results().TakeResults();
  step.released = outcomes_.results().TakeReleased();
  step.wake = NextWake(now);
  return step;
}

void Pipeline::FrameDueRetries(Instant now) {
  while (std::optional<RetryGroup> group = outcomes_.TakeDueRetry(now)) {
    for (UserRecord& record : group->records) {
      // In ordered mode the records do not wait for batching again.
      if (options_.ordered) break;
      record.deadline = std::min(now + options_.retry_linger, EndOfBatching(now, record.expires));
    }
    ReframeUnexpired(*std::move(group), now);
  }
}

// A loop, since records that expire here, or were framed before the shard map changed, go back
// through the framer and come out of it again; in a flush they do not wait there.
void Pipeline::PassLimiters(Instant now) {
  std::vector<KinesisRecord> passed = framer_.TakePassed();
  while (!passed.empty() || lanes_.IsDue(now)) {
    for (KinesisRecord& record : passed) {
      if (IsMisplaced(record)) {
        ReframeRecord(std::move(record), now);
      } else {
        OnDrained(lanes_.Put(std::move(record), now), now);
      }
    }
    while (lanes_.IsDue(now)) OnDrained(lanes_.DrainDue(now), now);
    if (is_flushing_) framer_.FrameAll();
    passed = framer_.TakePassed();
  }
}

void Pipeline::OnDrained(ShardLimiter::Drained drained, Instant now) {
  for (KinesisRecord& record : drained.expired) ReframeRecord(std::move(record), now);
  // A lane has records of one shard, or of none.
  if (budget_ && !drained.admitted.empty() && drained.admitted.front().shard) {
    for (KinesisRecord& record : drained.admitted) budget_->Put(std::move(record));
  } else {
    requests_.Put(std::move(drained.admitted), now);
  }
}

PipelineStep Pipeline::OnBudget(ShardId shard, const BudgetDecision& decision, Instant now) {
  std::vector<KinesisRecord> granted;
  std::vector<KinesisRecord> unplaced;
  if (budget_) {
    budget_->OnDecision(shard, decision, now, granted);
    lanes_.SetLead(budget_->lead());
    // If the shard was closed while its budget request was pending, and the request is refused now,
    // its records are still here.
    if (!map_.IsOpen(shard)) budget_->TakeUnplaced(map_, unplaced);
  }
  for (KinesisRecord& record : unplaced) ReframeRecord(std::move(record), now);
  for (KinesisRecord& record : granted) {
    if (record.expires > now - kLateGrant) {
      granted_.push_back(std::move(record));
    } else {
      ReframeRecord(std::move(record), now);
    }
  }
  return Advance(now);
}

std::optional<std::size_t> Pipeline::NextSend(Instant now) const {
  return requests_.NextBytes(now);
}

std::optional<PipelineStep::Send> Pipeline::TakeSend(Instant now) {
  const auto sent = requests_.Send(now);
  if (!sent) return std::nullopt;
  return PipelineStep::Send{sent->id, sent->records};
}

void Pipeline::TakeSends(Instant now, std::vector<PipelineStep::Send>& sends) {
  while (const auto send = TakeSend(now)) sends.push_back(*send);
}

std::optional<Instant> Pipeline::NextWake(Instant now) const {
  return EarliestOf({map_wake_, framer_.NextWake(), lanes_.NextWake(),
                     budget_ ? budget_->NextWake() : std::nullopt, requests_.NextWake(now),
                     LatestResult(requests_.OverdueWake()), outcomes_.NextWake()});
}

PipelineCounts Pipeline::counts() const {
  return {.kinesis_records = requests_.records(),
          .requests = requests_.requests(),
          .throttled = throttled_,
          .retries = outcomes_.retries()};
}

PipelineStep Pipeline::OnResponse(std::uint64_t id, PutResponse response, Instant now) {
  std::optional<RequestWindow::Flight> flight = requests_.Take(id);
  if (!flight) return Advance(now);
  if (!response) {
    OnRequestFailed(*std::move(flight), response.error(), now);
    return Advance(now);
  }
  requests_.OnAccepted();
  std::vector<EntryResponse> entries = MatchEntries(*std::move(response), flight->records.size());
  std::vector<Attempts::Shared> failures;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    OnEntry(std::move(flight->records[i]), std::move(entries[i]),
            {.began = flight->began, .ended = now}, failures);
  }
  EndTickets();
  OnDrained(lanes_.UpdateShardlessRate(now), now);
  return Advance(now);
}

void Pipeline::OnEntry(KinesisRecord record, EntryResponse response, Attempt attempt,
                       std::vector<Attempts::Shared>& failures) {
  const Instant now = attempt.ended;
  if (response.code.empty()) {
    const auto shard = ParseShardId(response.shard);
    if (shard) attempt.shard = *shard;
    if (shard && !record.shard) lanes_.OnSeen(*shard, now);
    return outcomes_.OnStored({std::move(record), attempt, std::move(response.sequence_number)},
                              map_, now, rng_);
  }
  attempt.code = PrintableLine(std::move(response.code));
  attempt.message = PrintableLine(std::move(response.message));
  const FailureClass kind = ClassOfEntry(attempt.code);
  if (kind == FailureClass::kThrottle) OnThrottled(record, now);
  outcomes_.OnFailed(std::move(record), {ShareFailure(std::move(attempt), failures), kind}, now,
                     rng_);
}

void Pipeline::OnRequestFailed(RequestWindow::Flight flight, const AwsFailure& failure,
                               Instant now) {
  const auto attempt = std::make_shared<const Attempt>(Attempt{
      .began = flight.began, .ended = now, .code = CodeOf(failure), .message = failure.message});
  if (IsUnsent(failure)) requests_.OnUnsent(flight.records.size());
  if (IsStreamMissing(failure.code) && map_.OnStreamMissing(now)) {
    // Records that are put from now on have no shard, and share no batch with earlier ones: the
    // open batches must leave first.
    framer_.FrameAll();
    ReframeUnplaced(now);
  }
  if (MayBePoisoned(failure)) {
    requests_.OnRefused(now, rng_);
    if (flight.records.size() > 1) return requests_.PutHalves(std::move(flight.records), attempt);
  }
  for (KinesisRecord& record : flight.records) {
    if (failure.kind == FailureClass::kThrottle) OnThrottled(record, now);
    outcomes_.OnFailed(std::move(record), {attempt, ClassOfRequest(failure)}, now, rng_);
  }
  EndTickets();
}

void Pipeline::OnThrottled(const KinesisRecord& record, Instant now) {
  ++throttled_;
  lanes_.OnThrottled(record.shard, now);
}

PipelineStep Pipeline::OnListed(Result<ShardPage> page, Instant now) {
  const std::uint64_t listings_before = map_.listings();
  map_.OnListed(std::move(page), now);
  if (map_.listings() != listings_before) ApplyShardList(now);
  if (map_.has_listing()) framer_.AggregateUnmapped(*map_.ranges());
  return Advance(now);
}

void Pipeline::ApplyShardList(Instant now) {
  framer_.RerouteShardless(*map_.ranges());
  ReframeUnplaced(now);
  lanes_.RemoveClosed(map_);
  outcomes_.OnListed(map_, now, rng_);
  EndTickets();
}

// Records that wait in the lane without a shard may have known shards now, and records of shards
// that were closed belong to their children: framed for the parent, they would be stored where
// consumers drop them, and come in addition to the rates of the children.
void Pipeline::ReframeUnplaced(Instant now) {
  std::vector<KinesisRecord> waiting;
  lanes_.TakeUnplaced(map_, waiting);
  if (budget_) budget_->TakeUnplaced(map_, waiting);
  for (KinesisRecord& record : waiting) ReframeRecord(std::move(record), now);
}

bool Pipeline::IsMisplaced(const KinesisRecord& record) const {
  return map_.ShardOf(record.records.front().hash) != record.shard;
}

void Pipeline::EndTickets() {
  for (const OrderGate::Ticket ticket : outcomes_.TakeEnded()) framer_.EndTicket(ticket);
}

void Pipeline::ExpireWaiting(Instant now) {
  outcomes_.DecideExpired(now, rng_);
  EndTickets();
  ReportOverdue(now);
  for (UserRecord& record : framer_.TakeExpiredUnmapped(now)) {
    outcomes_.results().AddExpired(std::move(record), now);
  }
  std::vector<KinesisRecord> expired;
  requests_.TakeExpired(now, expired);
  framer_.TakeExpired(now, expired);
  if (budget_) budget_->TakeExpired(now, expired);
  for (KinesisRecord& record : expired) ReframeRecord(std::move(record), now);
}

void Pipeline::ReportOverdue(Instant now) {
  std::vector<RequestWindow::Overdue> overdue;
  requests_.ReportOverdue(now - kLastWait, overdue);
  for (const auto& [record, began] : overdue) {
    outcomes_.results().AddOverdue(*record, began, now);
  }
}

// A Kinesis record expires with the first of its user records; the others are framed again.
void Pipeline::ReframeRecord(KinesisRecord record, Instant now) {
  Unframe(record);
  ReframeUnexpired({record.ticket, std::move(record.records)}, now);
}

void Pipeline::ReframeUnexpired(RetryGroup group, Instant now) {
  std::vector<UserRecord> rest;
  for (UserRecord& user : group.records) {
    if (user.expires > now) {
      rest.push_back(std::move(user));
    } else {
      outcomes_.results().AddExpired(std::move(user), now);
    }
  }
  if (!group.others_wait) framer_.Reframe(group.ticket, std::move(rest), *map_.ranges());
}

PipelineStep Pipeline::Close(Instant now) {
  const Attempts::Shared closed = ClosedAt(now);
  for (KinesisRecord& record : TakeWaiting(now)) {
    outcomes_.results().AddAllFailed(std::move(record.records), closed, false);
  }
  outcomes_.results().AddAllFailed(framer_.TakeUnmapped(), closed, false);
  outcomes_.EndRetries(closed);
  EndInFlight(now);
  outcomes_.EndParked(closed);
  EndTickets();
  framer_.ForgetTickets();
  return Advance(now);
}

std::vector<KinesisRecord> Pipeline::TakeWaiting(Instant now) {
  std::vector<KinesisRecord> waiting;
  framer_.TakeAll(waiting);
  lanes_.TakeAll(now, waiting);
  requests_.TakeWaiting(waiting);
  if (budget_) budget_->TakeAll(waiting);
  return waiting;
}

void Pipeline::EndInFlight(Instant now) {
  for (RequestWindow::Flight& flight : requests_.TakeInFlight()) {
    const Attempts::Shared cut = CutAt(flight.began, now);
    for (KinesisRecord& record : flight.records) {
      outcomes_.results().AddAllFailed(std::move(record.records), cut, true);
    }
  }
}

}  // namespace weir::kinesis
