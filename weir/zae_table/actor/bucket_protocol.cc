#include "weir/zae_table/actor/bucket_protocol.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir::dynamo {
namespace {

using Next = BucketCall::Next;

// The number of other shards that one request tries after a shard has refused it, and how often it
// is routed again because its buckets have other shards than the route assumed.
constexpr int kMaxRefusals = 2;
constexpr int kMaxDetours = 20;

// The maximum number of buckets that one event admits to the window or counts again.
constexpr int kMaxConsidered = 256;

// Returns true if the deadline passed before the call began. Never with `keeps`, because the caller
// admits its request all the same and must be charged, and never for an adjust, which is tried even
// after its deadline.
bool IsTooLate(const CallRequest& request, const ProtocolTime& moment) {
  return request.kind == CallRequest::Kind::kAcquire && !request.keeps &&
         request.deadline.ExpiredAt(moment.at);
}

Error TooLate(const CallRequest& request) {
  const BucketKey& key = request.charges.front().target->key;
  return {Code::kDeadlineExceeded,
          fmt::format("{}/{}: the deadline had passed before the request began", key.entity,
                      key.resource)};
}

Error StillBeingDivided(const BucketKey& key) {
  return {Code::kUnavailable,
          fmt::format("{}/{} is being divided; try again", key.entity, key.resource)};
}

}  // namespace

BucketProtocol::Entry& BucketProtocol::EntryAt(const BucketKey& key) {
  std::unique_ptr<Entry>& entry = actors_[key];
  if (entry == nullptr) {
    entry = std::make_unique<Entry>(terms_, key, ++last_entry_);
    NoteUse(*entry);
  }
  return *entry;
}

BucketActor& BucketProtocol::At(const BucketKey& key) { return EntryAt(key).actor; }

void BucketProtocol::MakeDue(Entry& entry) {
  if (!std::exchange(entry.is_due, true)) due_.push_back(&entry);
}

BucketActor& BucketProtocol::Modify(const BucketKey& key) {
  Entry& entry = EntryAt(key);
  MakeDue(entry);
  return entry.actor;
}

// A full queue refuses the part by an outcome, which the call processes like any other. Returns are
// always accepted: a token that was taken must not be lost.
PartId BucketProtocol::Accept(Part part) {
  Entry& entry = EntryAt(part.target->key);
  const PartId id = part.id = ++terms_.last_part;
  if (entry.actor.is_full() && part.kind != Part::Kind::kGiveBack) {
    outcomes_.push_back({.kind = PartOutcome::Kind::kContended,
                         .part = id,
                         .call = part.call,
                         .index = part.index});
    return id;
  }
  entry.actor.Accept(std::move(part));
  MakeDue(entry);
  return id;
}

void BucketProtocol::Refresh(const BucketKey& key) {
  Entry& entry = EntryAt(key);
  if (!entry.actor.IsAging(moment_)) return;
  entry.actor.Refresh();
  MakeDue(entry);
}

// A pending adjust is accepted again: PendingParts lets the repetition share the outcome.
std::optional<Status> BucketProtocol::FindAdjustResult(const BucketKey& key, AdjustId adjust_id) {
  if (EntryAt(key).actor.HasAdjust(adjust_id)) return std::nullopt;
  const AdjustId here = KeyOfAdjust(adjust_id, key);
  if (forfeited_.Contains(here)) {
    return Status(Fail(Error{
        .code = Code::kUnavailable,
        .message = fmt::format("{}/{}: it is not known whether the adjust was written, and it "
                               "is not written again",
                               key.entity, key.resource),
        .is_partial = true}));
  }
  if (counted_.Contains(here)) return Status();
  return std::nullopt;
}

bool BucketProtocol::MayCountAdjust(const BucketKey& key, AdjustId adjust_id) {
  return EntryAt(key).actor.HasAdjust(adjust_id) || FindAdjustResult(key, adjust_id).has_value();
}

void BucketProtocol::NoteAdjustId(const PartOutcome& outcome, const BucketKey& key) {
  if (!outcome.adjust_id) return;
  const AdjustId here = KeyOfAdjust(*outcome.adjust_id, key);
  if (outcome.kind == PartOutcome::Kind::kApplied) {
    counted_.Insert(here, moment_.bucket_time);
  } else if (outcome.in_doubt) {
    forfeited_.Insert(here, moment_.bucket_time);
  }
}

std::uint32_t BucketProtocol::ShardsOf(const BucketKey& key) const {
  const SeenBucket* seen = Find(key);
  return seen == nullptr || seen->image() == nullptr ? 0 : seen->image()->shards;
}

// Returns 0 for a shard without an actor, so that routing does not create actors.
milliseconds BucketProtocol::WaitAt(const BucketKey& shard, const Charge& charge,
                                    std::uint32_t shards) const {
  using Kind = Opinion::Kind;
  const auto found = actors_.find(shard);
  if (found == actors_.end() || ShardsOf(shard) < shards) return milliseconds(0);
  Part part{.target = charge.target, .now = now_, .began_at = moment_.at};
  part.amounts.assign(charge.amounts.begin(), charge.amounts.end());
  const Opinion opinion = found->second->actor.Judge(part, moment_);
  return opinion.kind == Kind::kRefused ? opinion.verdict.wait : milliseconds(0);
}

bool BucketProtocol::HasAdjust(const BucketKey& shard, AdjustId adjust_id) const {
  const auto found = actors_.find(shard);
  return found != actors_.end() && found->second->actor.HasAdjust(adjust_id);
}

const SeenBucket* BucketProtocol::Find(const BucketKey& key) const {
  const auto found = actors_.find(key);
  return found == actors_.end() ? nullptr : &found->second->actor.seen();
}

void BucketProtocol::Learn(BucketImage image, const ProtocolTime& moment) {
  BucketActor& actor = EntryAt(image.key).actor;
  actor.Learn(std::move(image), moment);
  Evict();
}

void BucketProtocol::Forget(const BucketKey& key) {
  const auto found = actors_.find(key);
  if (found != actors_.end()) found->second->actor.Forget();
}

void BucketProtocol::ForgetEntity(std::string_view entity) {
  for (const auto& [key, entry] : actors_) {
    if (key.entity == entity) entry->actor.Forget();
  }
}

bool BucketProtocol::is_idle() const {
  return calls_.empty() && std::ranges::all_of(actors_, [](const auto& entry) {
           return entry.second->actor.is_idle();
         });
}

void BucketProtocol::NoteUse(Entry& entry) {
  if (entry.idle) idle_.erase(*std::exchange(entry.idle, std::nullopt));
  if (entry.actor.is_idle()) entry.idle = idle_.insert(idle_.end(), &entry);
}

// due_ has pointers to its entries, so an entry in due_ must not be destroyed.
void BucketProtocol::Evict() {
  while (actors_.size() > capacity_ && !idle_.empty() && !idle_.front()->is_due) {
    const Entry& entry = *idle_.front();
    idle_.pop_front();
    wakes_.erase({entry.wake, entry.serial});
    actors_.erase(BucketKey(entry.actor.key()));
  }
}

std::optional<Instant> BucketProtocol::wake() const {
  if (terms_.window.has_room() && !awaiting_window_.is_empty()) return moment_.at;
  if (wakes_.empty()) return std::nullopt;
  return wakes_.begin()->first.first;
}

void BucketProtocol::Schedule(Entry& entry) {
  const Instant wake = entry.actor.wake();
  if (wake == entry.wake) return;
  if (entry.wake != kNoTime) wakes_.erase({entry.wake, entry.serial});
  if (wake != kNoTime) wakes_.emplace(std::pair(wake, entry.serial), &entry);
  entry.wake = wake;
}

Route BucketProtocol::RouteOf(const CallRequest& request, std::span<const ShardCount> counts) {
  now_ = request.now;
  switch (request.kind) {
    case CallRequest::Kind::kAcquire:
      return RouteTake(request.charges, *this,
                       [this](std::size_t below) { return terms_.draw() % below; });
    case CallRequest::Kind::kAdjust:
    case CallRequest::Kind::kConform:
      break;
  }
  return RouteAdjust(request.charges, request.adjust_id, counts, *this);
}

void BucketProtocol::Start(CallRequest request, Done<Decision> done, const ProtocolTime& moment,
                           Step& step) {
  moment_ = moment;
  if (IsTooLate(request, moment)) {
    step.completions.push_back({std::move(done), Fail(TooLate(request))});
    return;
  }
  // The caller's thread may have been stopped since it read the time: less time is left by that.
  if (request.counts_by != kAnyTime) {
    request.counts_by =
        request.counts_by - std::max(moment.bucket_time - request.now, milliseconds(0));
  }
  const std::uint64_t id = ++last_call_;
  Route route = RouteOf(request, {});
  auto running = std::make_unique<RunningCall>(
      RunningCall{.call = BucketCall(id, std::move(request)), .done = std::move(done)});
  BucketCall& call = calls_.emplace(id, std::move(running)).first->second->call;
  ActOnNext(id, call.Begin(std::move(route), *this), step);
  ProcessAll(step);
}

BucketCall::Next BucketProtocol::BeginAgain(RunningCall& running) {
  return running.call.Begin(RouteOf(running.call.request(), running.call.counts), *this);
}

// One shard of some bucket has refused the call. Another shard may have the tokens, or have them
// earlier. If no shard is known to have them, the call is routed a last time: RouteTake then
// chooses the shard with the shortest wait, whose refusal is the result.
bool BucketProtocol::TriesAnother(RunningCall& running) {
  BucketCall& call = running.call;
  if (call.refusals >= kMaxRefusals || call.request().deadline.ExpiredAt(moment_.at)) return false;
  const Route route = RouteOf(call.request(), {});
  if (!route.IsDivided()) return false;
  call.refusals = route.may_pay ? call.refusals + 1 : kMaxRefusals;
  return true;
}

// A call that begins again may end at once, or be rerouted, so this is recursive; kMaxRefusals and
// kMaxDetours bound the depth.
void BucketProtocol::ActOnNext(std::uint64_t id, Next next, Step& step) {
  RunningCall& running = *calls_.at(id);
  if (next == Next::kRefused && TriesAnother(running)) {
    return ActOnNext(id, BeginAgain(running), step);
  }
  if (next == Next::kReroutes) {
    if (++running.call.detours <= kMaxDetours) {
      return RequestShards(id, running.call.TakeIncomplete(), step);
    }
    const BucketKey& key = running.call.request().charges.front().target->key;
    running.call.GiveUp(StillBeingDivided(key), *this);
  }
  if (next == Next::kWaits) return;
  step.completions.push_back({std::move(running.done), running.call.TakeResult()});
  calls_.erase(id);
}

// The missing shards of several buckets are requested one bucket after the other. Calls that need
// the same bucket share one request.
void BucketProtocol::RequestShards(std::uint64_t id, std::vector<BucketKey> incomplete,
                                   Step& step) {
  RunningCall& running = *calls_.at(id);
  running.incomplete = std::move(incomplete);
  if (running.incomplete.empty()) return ActOnNext(id, BeginAgain(running), step);
  const BucketKey bucket = running.incomplete.back();
  running.incomplete.pop_back();
  running.call.AwaitShards(*this);
  std::vector<std::uint64_t>& waiting = calls_awaiting_shards_[bucket];
  waiting.push_back(id);
  if (waiting.size() > 1) return;
  step.shard_requests.push_back({.bucket = bucket, .now = running.call.request().now});
}

// Calls that have ended at their deadlines meanwhile are still in the list.
void BucketProtocol::OnShardsCreated(const BucketKey& bucket, const Result<std::uint32_t>& shards,
                                     const ProtocolTime& moment, Step& step) {
  moment_ = moment;
  auto waiting = calls_awaiting_shards_.extract(bucket);
  if (waiting.empty()) return;
  for (const std::uint64_t id : waiting.mapped()) {
    if (calls_.contains(id)) EndShardWait(id, bucket, shards, step);
  }
  ProcessAll(step);
}

// A bucket that was deleted, and perhaps created again, may have fewer shards than have paid. If it
// does not exist, shard 0 is created for its adjusts.
void BucketProtocol::EndShardWait(std::uint64_t id, const BucketKey& bucket,
                                  const Result<std::uint32_t>& shards, Step& step) {
  RunningCall& running = *calls_.at(id);
  running.call.EndWait(*this);
  if (!shards) {
    running.call.GiveUp(shards.error(), *this);
    return ActOnNext(id, Next::kEnded, step);
  }
  std::vector<ShardCount>& counts = running.call.counts;
  std::erase_if(counts, [&](const ShardCount& count) { return count.bucket == bucket; });
  counts.push_back({bucket, std::max<std::uint32_t>(*shards, 1)});
  RequestShards(id, std::move(running.incomplete), step);
}

void BucketProtocol::OnRead(const BucketKey& key, Result<BucketItems> items,
                            const ProtocolTime& moment, Step& step) {
  moment_ = moment;
  Entry& entry = EntryAt(key);
  BucketActor::Step from;
  entry.actor.OnRead(std::move(items), moment, from);
  MergeStep(entry, std::move(from), step);
  ProcessAll(step);
}

void BucketProtocol::OnWrite(const BucketKey& key, std::uint64_t write,
                             BucketActor::WriteOutcome outcome, const ProtocolTime& moment,
                             Step& step) {
  moment_ = moment;
  terms_.window.OnEnded();
  Entry& entry = EntryAt(key);
  BucketActor::Step from;
  entry.actor.OnWrite(write, std::move(outcome), moment, from);
  MergeStep(entry, std::move(from), step);
  ProcessAll(step);
}

void BucketProtocol::OnTime(const ProtocolTime& moment, Step& step) {
  moment_ = moment;
  while (!wakes_.empty() && wakes_.begin()->first.first <= moment.at) {
    Entry& entry = *wakes_.begin()->second;
    wakes_.erase(wakes_.begin());
    entry.wake = kNoTime;
    BucketActor::Step from;
    entry.actor.OnTime(moment, from);
    MergeStep(entry, std::move(from), step);
  }
  ProcessAll(step);
}

void BucketProtocol::MergeStep(Entry& entry, BucketActor::Step from, Step& step) {
  const BucketKey& key = entry.actor.key();
  for (PartOutcome& outcome : from.reports.outcomes) {
    NoteAdjustId(outcome, key);
    if (outcome.call != 0) outcomes_.push_back(std::move(outcome));
  }
  for (BucketActor::Outgoing& send : from.sends) step.sends.push_back({key, std::move(send)});
  if (from.read) step.reads.push_back(key);
  if (from.divide && entry.actor.seen().image() != nullptr) {
    step.divides.push_back(*entry.actor.seen().image());
  }
  if (from.set_back > milliseconds(0)) step.set_back.push_back({key, from.set_back});
  forfeits_ += from.reports.forfeits;
  if (const auto awaited = entry.actor.AwaitedWriteAt(moment_)) {
    awaiting_window_.Put(entry, *awaited);
  } else {
    awaiting_window_.Remove(entry);
  }
  terms_.window.Reserve(!awaiting_window_.is_empty());
  Schedule(entry);
  NoteUse(entry);
}

bool BucketProtocol::AdmitNext(int& considered_left, Step& step) {
  const auto recount = [this](const Entry& entry) {
    return entry.actor.AwaitedWriteAt(moment_).value_or(AwaitedWrite{});
  };
  if (!terms_.window.has_room()) return false;
  if (--considered_left < 0) return false;
  Entry* const next = awaiting_window_.TakeNext(recount, considered_left);
  if (next == nullptr) return false;
  terms_.window.Reserve(false);
  BucketActor::Step from;
  next->actor.Continue(moment_, from);
  if (!from.sends.empty()) awaiting_window_.EndTurn();
  MergeStep(*next, std::move(from), step);
  return true;
}

// Outcomes end or continue calls, which change other actors; these are continued, and cause further
// outcomes. All outcomes are processed before an actor continues, so that the parts of several
// calls share its next write.
void BucketProtocol::ProcessAll(Step& step) {
  int considered_left = kMaxConsidered;
  // An admitted bucket sends no write if its callers have too little time left. If there are many
  // such buckets, wake() is due at once for the others, so that results are reported in between.
  const auto admits = [&] { return AdmitNext(considered_left, step); };
  while (!due_.empty() || !outcomes_.empty() || admits()) {
    while (!outcomes_.empty()) {
      const PartOutcome outcome = std::move(outcomes_.front());
      outcomes_.pop_front();
      const auto found = calls_.find(outcome.call);
      if (found == calls_.end()) continue;
      ActOnNext(outcome.call, found->second->call.OnOutcome(outcome, *this), step);
    }
    for (Entry* entry : std::exchange(due_, {})) {
      entry->is_due = false;
      BucketActor::Step from;
      entry->actor.Continue(moment_, from);
      MergeStep(*entry, std::move(from), step);
    }
  }
  Evict();
}

}  // namespace weir::dynamo
