#include "weir/zae_table/actor/bucket_actor.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weir/zae_table/sharding/shard_route.h"

namespace weir::dynamo {
namespace {

constexpr std::string_view kFailedCheck = "ConditionalCheckFailed";
constexpr std::string_view kConflict = "TransactionConflict";

Error LostTooOften(const BucketKey& key, int lost) {
  return {Code::kUnavailable, fmt::format("{}/{}: {} writes lost to other processes; try again",
                                          key.entity, key.resource, lost)};
}

// Returns the item that the response of a failed condition contains. In a transaction the bucket's
// item is always the first action.
const std::optional<Item>& ReturnedItem(const WriteFailure& failure) {
  if (failure.reasons.empty()) return failure.old_item;
  return failure.reasons.front().item;
}

// Returns true if the condition on the bucket's item failed, and not only that of another action.
bool FailedOnItem(const WriteFailure& failure) {
  return failure.reasons.empty() || failure.ReasonOf(0) == kFailedCheck;
}

// Returns true if the condition on the record of an adjust failed, and the condition on the
// bucket's item did not. The record is the last action.
bool FailedOnlyOnRecord(const WriteFailure& failure) {
  return !failure.reasons.empty() && failure.reasons.back().code == kFailedCheck &&
         failure.ReasonOf(0) != kFailedCheck;
}

// Returns true if another process has written the item in the last 10 s. Such processes regard the
// bucket as contended and do not move `rf` until enough refill has accumulated. If this process
// kept moving `rf`, it would get all of the refill, and would not notice that others want tokens.
bool OthersWroteLately(const FenceSlots& slots, std::uint64_t instance, UnixMillis now) {
  constexpr milliseconds kLately{10'000};
  return std::ranges::any_of(slots, [&](const std::optional<FenceValue>& slot) {
    return slot && *slot != kUnreadableSlot && slot->instance != instance &&
           slot->at + kLately > now;
  });
}

}  // namespace

BucketActor::BucketActor(ActorTerms& terms, BucketKey key)
    : terms_(terms),
      key_(std::move(key)),
      parts_(key_, terms.last_part),
      flights_(terms.instance, terms.last_write) {}

bool BucketActor::WantsRepair(const Part& take, const ProtocolTime& moment) const {
  if (repaired_at_ + terms_.repair_rest > moment.at) return false;
  // The first refused call waits for the window with its repair; those after it do not.
  if (awaits_window_) return false;
  return View(moment).HasOtherLimits(take) || NextAheadStepAt(moment) != AheadStep::kNone;
}

AheadStep BucketActor::NextAheadStepAt(const ProtocolTime& moment) const {
  const BucketImage* image = seen_.image();
  if (image == nullptr) return AheadStep::kNone;
  const AheadStep step = NextAheadStep(*image, moment.bucket_time);
  return step != AheadStep::kNone && terms_.is_time_confirmed() ? step : AheadStep::kNone;
}

// SeenBucket::Learn resets the time, so this is called after every image that was learned.
void BucketActor::NoteAhead(const ProtocolTime& moment) {
  if (seen_.image() == nullptr) return;
  const std::optional<UnixMillis> at = SetBackAt(*seen_.image(), moment.bucket_time);
  if (at && terms_.is_time_confirmed()) seen_.ExpectSetBack(*at);
}

bool BucketActor::IsRepair(PartId part) const {
  return parts_.queue().Find(part)->kind == Part::Kind::kRepair;
}

std::optional<Status> BucketActor::CheckAdjust(const Part& adjust,
                                               const ProtocolTime& moment) const {
  if (!seen_.is_known()) return std::nullopt;
  if (CountsTooLate(adjust, seen_)) return Status(Fail(CountedTooLate(adjust)));
  BucketBatch batch(seen_, adjust, DateOf(adjust, moment.at), moment.at);
  if (batch.AddAdjust(adjust)) return Status();
  return Status(Fail(TooMuchDebt(key_)));
}

bool BucketActor::IsAging(const ProtocolTime& moment) const {
  const bool is_old = seen_.seen_at() + terms_.refusal_age / 2 < moment.at;
  return is_old && !reading_ && flights_.is_empty();
}

// StepTowardsWrite returns true while parts end without a write, after which others may be written.
void BucketActor::Continue(const ProtocolTime& moment, Step& step) {
  const bool is_look_due = parts_.queue().HasLook() && flights_.ReadDueAt(moment) <= moment.at;
  if (std::exchange(refreshes_, false) || is_look_due) Read(step);
  const bool has_more = HasWork(parts_.queue()) || !flights_.is_settled();
  awaits_window_ &= has_more && !terms_.window.is_open();
  while (MaySend(moment) && StepTowardsWrite(moment, step)) {
  }
  SetWake(moment);
}

// An actor that waits for the window does not choose parts at each event: the choice takes time in
// proportion to the parts.
bool BucketActor::MaySend(const ProtocolTime& moment) {
  if (awaits_window_ || moment.at < pace_.paused_until() || flights_.is_full()) return false;
  if (!flights_.is_empty()) return flights_.SupersedeAt(moment) <= moment.at;
  if (!gathering_.is_holding() || HasUrgentPart(moment)) return true;
  return gathering_.MaySend(parts_.queue().size(), moment.at);
}

// A caller needs up to a quarter of a round trip for the hold, and one round trip for the write.
// The bound of two round trips leaves some spare time.
bool BucketActor::HasUrgentPart(const ProtocolTime& moment) const {
  const nanoseconds needed = moment.round_trip.value_or(nanoseconds(0)) * 2;
  return std::ranges::any_of(parts_.queue().all(), [&](const Part& part) {
    return !part.reported && part.report_by < moment.at + needed;
  });
}

bool BucketActor::StepTowardsWrite(const ProtocolTime& moment, Step& step) {
  if (!HasWork(parts_.queue())) {
    Probe(moment, step);
    return false;
  }
  needs_read_ = !seen_.is_known();
  if (needs_read_) {
    Read(step);
    return false;
  }
  const ChoiceTerms terms{.refusal_age = terms_.refusal_age,
                          .max_takes = pace_.max_takes(),
                          .yields_record = latest_records_adjust_,
                          .repairs_first = NextAheadStepAt(moment) != AheadStep::kNone};
  Choice choice = Choose(parts_.queue(), seen_, terms, moment);
  for (auto& [part, outcome] : choice.ends) parts_.End(part, std::move(outcome), step.reports);
  if (!choice.parts.empty() && !EntersWindow()) return false;
  if (!choice.parts.empty()) return SendChoice(std::move(choice), moment, step);
  if (choice.needs_read) {
    needs_read_ = true;
    Read(step);
    return false;
  }
  // No part may be written: earlier writes carry all parts that remain.
  if (choice.ends.empty()) Probe(moment, step);
  return !choice.ends.empty();
}

bool BucketActor::EntersWindow() {
  if (terms_.window.is_open()) return true;
  awaits_window_ = true;
  return false;
}

std::optional<AwaitedWrite> BucketActor::AwaitedWriteAt(const ProtocolTime& moment) const {
  if (!awaits_window_) return std::nullopt;
  const bool is_in_doubt = flights_.abandon_at() != kNoTime;
  const Instant completed_at = moment.at + moment.round_trip.value_or(nanoseconds(0));
  const std::size_t parts =
      std::min(CountEligible(parts_.queue(), completed_at), pace_.max_takes());
  return AwaitedWrite{.parts = static_cast<std::int64_t>(parts),
                      .is_owed = is_in_doubt || parts_.queue().HasOwed()};
}

// The image will be at least as new as the last write before those in flight. It may miss the
// effects of the writes in flight.
void BucketActor::Read(Step& step) {
  if (std::exchange(reading_, true)) return;
  step.read = true;
  read_ = {flights_.last_id_before_flights(), terms_.last_part};
}

std::optional<WriteFence::Guard> BucketActor::BeginFenced(const std::vector<PartId>& parts,
                                                          const ProtocolTime& moment) {
  const auto draw = static_cast<std::uint32_t>(terms_.draw());
  return flights_.Begin(parts, seen_.image(), moment.bucket_time, draw);
}

// If the choice consists of repairs only (ChoiceTerms::repairs_first), an `rf` that is far ahead is
// marked or set back instead, and a later repair stores the limits.
Result<BucketPlan> BucketActor::Plan(const Choice& choice, const ProtocolTime& moment,
                                     const WriteFence::Guard* guard) const {
  const auto is_repair = [this](PartId part) { return IsRepair(part); };
  const AheadStep step =
      std::ranges::all_of(choice.parts, is_repair) ? NextAheadStepAt(moment) : AheadStep::kNone;
  if (step != AheadStep::kNone) {
    return PlanAheadStep(terms_.keys, *seen_.image(), {step, moment.bucket_time, guard});
  }
  BucketRequest request = choice.batch->Request();
  request.writes = terms_.writes;
  request.failed_writes = pace_.failed();
  request.guard = guard;
  request.expects_refill = choice.expects_refill;
  if (const BucketImage* image = seen_.image()) {
    return PlanWrite(terms_.keys, *image, request, choice.now);
  }
  return PlanCreate(terms_.keys, seen_.owner(), request, choice.now);
}

// The guard is begun before the write is planned, because the plan contains it. If no write is
// sent, the guard must be cancelled, or the fence would count a write that may be applied.
bool BucketActor::SendChoice(Choice choice, const ProtocolTime& moment, Step& step) {
  const std::optional<WriteFence::Guard> guard = BeginFenced(choice.parts, moment);
  Result<BucketPlan> plan = Plan(choice, moment, guard ? &*guard : nullptr);
  const bool is_needless = plan && (plan->settled || (plan->conforms && choice.takes_nothing()));
  if (!plan || is_needless) {
    if (guard) flights_.Cancel(*guard);
    const std::optional<Error> error = plan ? std::nullopt : std::optional(plan.error());
    if (EndUnwritten(choice.parts, error, moment, step)) return true;
    // Writes in flight or in doubt carry all of the parts, and no new write would settle them.
    Probe(moment, step);
    return false;
  }
  if (guard && terms_.observe_plan) terms_.observe_plan(guard->value, choice.batch->Request());
  Dispatch(std::move(choice), *std::move(plan), guard, moment, step);
  return false;
}

bool BucketActor::EndUnwritten(const std::vector<PartId>& parts, const std::optional<Error>& error,
                               const ProtocolTime& moment, Step& step) {
  bool has_ended = false;
  for (const PartId id : parts) {
    Part& part = *parts_.queue().Find(id);
    if (part.in_flight) continue;
    has_ended = true;
    if (error) {
      parts_.End(id, {.kind = PartOutcome::Kind::kFailed, .error = error}, step.reports);
    } else {
      parts_.OnApplied(part, moment.at, step.reports);
    }
  }
  return has_ended;
}

void BucketActor::Dispatch(Choice choice, BucketPlan plan,
                           const std::optional<WriteFence::Guard>& guard,
                           const ProtocolTime& moment, Step& step) {
  parts_.Carry(choice.parts);
  const bool repairs =
      std::ranges::any_of(choice.parts, [this](PartId part) { return IsRepair(part); });
  if (repairs) repaired_at_ = moment.at;
  latest_records_adjust_ = choice.recorded.has_value();
  Flight flight{.parts = std::move(choice.parts),
                .last_part = terms_.last_part,
                .sent = moment.at,
                .planned_rf = seen_.image() == nullptr ? UnixMillis{} : seen_.image()->bucket.time,
                .moves_rf = plan.moves_rf,
                .set_back = plan.set_back,
                .is_tight = choice.batch->is_tight(),
                .planned_from_own_image = !image_is_read_,
                .records = latest_records_adjust_};
  if (guard) flight.fence_id = guard->write;
  if (seen_.is_absent()) flight.created = plan.writes.front().item;
  Outgoing send{.writes = std::move(plan.writes)};
  if (flight.records) {
    const Part& adjust = *parts_.queue().Find(flight.parts.front());
    const BucketKey paid{key_.entity, key_.resource, adjust.paid};
    const AdjustId id = IdOfPart(*choice.recorded, paid, key_);
    send.writes.push_back(PlanAdjustRecord(terms_.keys, paid, id, choice.now));
  }
  if (send.writes.size() > 1) {
    send.token = fmt::format("{:016x}{:016x}", terms_.draw(), terms_.draw());
  }
  terms_.window.OnSent();
  send.write = flights_.Add(std::move(flight));
  step.sends.push_back(std::move(send));
}

// No part is to be written, but earlier writes may still be applied. If there is no image, the
// earlier writes were creations, and a probe has no item to write. Then a read shows whether one of
// them was applied.
void BucketActor::Probe(const ProtocolTime& moment, Step& step) {
  if (flights_.is_settled()) return;
  if (seen_.image() == nullptr) {
    pace_.Pause(moment.at, terms_.draw());
    return Read(step);
  }
  if (!EntersWindow()) return;
  const std::optional<WriteFence::Guard> guard = BeginFenced({}, moment);
  if (!guard) return;
  terms_.window.OnSent();
  Outgoing probe{.write = flights_.Add(
                     {.fence_id = guard->write, .last_part = terms_.last_part, .sent = moment.at})};
  probe.writes.push_back(PlanProbe(terms_.keys, key_, *guard));
  step.sends.push_back(std::move(probe));
}

// If the read fails, all looks end with its error; other parts end only if they need an image.
void BucketActor::OnRead(Result<BucketItems> items, const ProtocolTime& moment, Step& step) {
  reading_ = false;
  if (!items) {
    parts_.SetLastError(items.error());
    parts_.EndLooks(items.error(), step.reports);
    if (needs_read_ || !seen_.is_known()) FailPending(items.error(), moment, step);
  } else if (items->item) {
    LearnItem(*items->item, read_, moment, step);
  } else {
    seen_.LearnAbsent(std::move(items->owner), items->divided, read_.id, moment.at);
    parts_.NoteImage(read_.last_part);
    parts_.EndLooks(std::nullopt, step.reports);
  }
  Continue(moment, step);
}

void BucketActor::OnTime(const ProtocolTime& moment, Step& step) {
  if (const auto abandoned = flights_.Abandon(moment.at)) {
    parts_.Settle(*abandoned, /*is_final=*/true, moment.at, step.reports);
  }
  parts_.Expire(moment.at, step.reports);
  Continue(moment, step);
}

void BucketActor::OnWrite(std::uint64_t write, WriteOutcome outcome, const ProtocolTime& moment,
                          Step& step) {
  const std::optional<Flight> flight = flights_.Remove(write);
  if (!flight) return Continue(moment, step);  // its round is settled
  step.divide |= outcome ? outcome->key_range_throttled : outcome.error().key_range_throttled;
  if (outcome) {
    OnWriteApplied(*flight, *outcome, moment, step);
  } else if (outcome.error().kind == FailureClass::kConditional) {
    OnConditionFailed(*flight, std::move(outcome.error()), moment, step);
  } else if (outcome.error().maybe_applied || outcome.error().kind == FailureClass::kAmbiguous) {
    pace_.Pause(moment.at, terms_.draw());
    parts_.CompleteRepairs(flight->parts, step.reports);
    Settle(flights_.OnLost(*flight, moment.at), moment, step);
  } else {
    NotApplied(*flight, outcome.error(), moment, step);
  }
  Continue(moment, step);
}

// If a write moved rf, and its image came from an earlier write of this process, no other process
// has moved rf between the two writes (kMoved). If the image had been read, the write shows nothing
// about other processes (kOwn). SeenBucket uses this to find out whether the bucket is contended.
void BucketActor::OnWriteApplied(const Flight& flight, const WriteResponse& response,
                                 const ProtocolTime& moment, Step& step) {
  pace_.OnApplied();
  step.set_back = flight.set_back;
  parts_.SetLastError(std::nullopt);
  const std::optional<Item>& item = response.item ? response.item : flight.created;
  auto image = item ? ReadImage(*item) : weir::Fail(Code::kNotFound, "");
  if (image) {
    using Source = SeenBucket::Source;
    const Source moved = flight.planned_from_own_image ? Source::kMoved : Source::kOwn;
    step.divide |= image->IsHotAt(moment.bucket_time);
    if (flight.moves_rf && OthersWroteLately(image->slots, terms_.instance, moment.bucket_time)) {
      seen_.MarkContended(moment.at);
    }
    seen_.Learn(std::move(*image), flight.moves_rf ? moved : Source::kAdded, flight.id, moment.at);
    image_is_read_ = false;
    NoteAhead(moment);
    parts_.NoteImage(flight.last_part);
    parts_.EndLooks(std::nullopt, step.reports);
  } else {
    // The item uses a feature that another client has switched on. The write was applied; the next
    // part reads the item and reports the error.
    seen_.Forget();
  }
  const std::size_t reported = step.reports.outcomes.size();
  Settle(flights_.OnApplied(flight), moment, step);
  gathering_.OnApplied(step.reports.outcomes.size() - reported, parts_.queue().size(),
                       pace_.max_takes(), moment);
}

// A failed condition does not mean that the parts were not applied: the returned item may show that
// an earlier write of the round, which carried the same parts, was applied. So the fence settles
// the parts first. Only if no part was applied has the write lost to another process.
void BucketActor::OnConditionFailed(const Flight& flight, WriteFailure failure,
                                    const ProtocolTime& moment, Step& step) {
  if (flight.records && FailedOnlyOnRecord(failure))
    return AdjustAlreadyRecorded(flight, moment, step);
  if (!FailedOnItem(failure)) {
    const bool conflicts = failure.ReasonOf(0) == kConflict || failure.ReasonOf(1) == kConflict;
    if (!conflicts) seen_.Forget();  // the owner's record has changed
    failure.kind = FailureClass::kConflict;
    return NotApplied(flight, failure, moment, step);
  }
  pace_.OnFailed();
  const std::optional<Item>& item = ReturnedItem(failure);
  const WriteFence::Settlement settled = flights_.OnFailed(flight, item);
  Settle(settled, moment, step);
  if (item) {
    LearnItem(*item, {flight.id, flight.last_part}, moment, step);
  } else {
    seen_.Forget();
  }
  if (settled.applied.empty()) OnLostToOthers(flight, moment, step);
}

void BucketActor::AdjustAlreadyRecorded(const Flight& flight, const ProtocolTime& moment,
                                        Step& step) {
  if (flight.fence_id) Settle(flights_.OnNotApplied(flight), moment, step);
  for (const PartId id : flight.parts) {
    parts_.End(id, {.kind = PartOutcome::Kind::kApplied}, step.reports);
  }
}

// If other processes took tokens without moving rf, and the write needed most of the balance, the
// write failed because of its amounts, and fewer takes may fit. Otherwise it failed because rf has
// moved.
void BucketActor::OnLostToOthers(const Flight& flight, const ProtocolTime& moment, Step& step) {
  const BucketImage* image = seen_.image();
  const bool took = image != nullptr && image->bucket.time == flight.planned_rf;
  pace_.OnLost(flight.parts.size(), took && flight.is_tight, moment.at, terms_.draw());
  parts_.SetLastError(LostTooOften(key_, pace_.lost()));
  parts_.OnLost(flight.parts, step.reports);
}

void BucketActor::NotApplied(const Flight& flight, const WriteFailure& failure,
                             const ProtocolTime& moment, Step& step) {
  Settle(flights_.OnNotApplied(flight), moment, step);
  pace_.Pause(moment.at, terms_.draw());
  parts_.SetLastError(failure.error);
  parts_.OnNotApplied(flight.parts, failure, step.reports);
}

void BucketActor::Settle(const WriteFence::Settlement& settled, const ProtocolTime& moment,
                         Step& step) {
  parts_.Settle(settled, false, moment.at, step.reports);
}

void BucketActor::LearnItem(const Item& item, const ImageRequest& request,
                            const ProtocolTime& moment, Step& step) {
  auto image = ReadImage(item);
  if (!image) {
    seen_.Forget();
    parts_.EndLooks(image.error(), step.reports);
    return FailPending(image.error(), moment, step);
  }
  step.divide |= image->IsHotAt(moment.bucket_time);
  Learn(std::move(*image), request, moment);
  parts_.NoteImage(request.last_part);
  parts_.EndLooks(std::nullopt, step.reports);
}

void BucketActor::Learn(BucketImage image, const ImageRequest& request,
                        const ProtocolTime& moment) {
  const bool was_learned =
      seen_.Learn(std::move(image), SeenBucket::Source::kRead, request.id, moment.at);
  image_is_read_ |= was_learned;
  if (was_learned) NoteAhead(moment);
}

void BucketActor::FailPending(const Error& error, const ProtocolTime& moment, Step& step) {
  parts_.Fail(error, step.reports);
  if (!parts_.queue().is_empty()) pace_.Pause(moment.at, terms_.draw());
}

void BucketActor::SetWake(const ProtocolTime& moment) {
  wake_ = std::min(parts_.wake(), flights_.abandon_at());
  const bool has_more = !flights_.is_settled() || HasWork(parts_.queue());
  // Times that have passed are ignored: the work that was due is done, or waits for a response.
  for (const Instant at :
       {parts_.queue().HasLook() ? flights_.ReadDueAt(moment) : kNoTime,
        has_more ? flights_.SupersedeAt(moment) : kNoTime, has_more ? gathering_.until() : kNoTime,
        has_more ? pace_.paused_until() : kNoTime}) {
    if (at > moment.at) wake_ = std::min(wake_, at);
  }
}

}  // namespace weir::dynamo
