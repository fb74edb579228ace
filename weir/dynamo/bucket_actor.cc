#include "weir/dynamo/bucket_actor.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weir::dynamo {
namespace {

// A write that is slower than three round trips is joined by one that supersedes it.
constexpr int kSlowRoundTrips = 3;
constexpr nanoseconds kLeastSlow = std::chrono::milliseconds(10);
constexpr nanoseconds kMostSlow = std::chrono::milliseconds(100);
constexpr std::size_t kMostFlights = 3;

// Writes that are lost to other processes in a row: after the first few each one waits, so that
// they do not all come at once; and then there are too many writers on this bucket.
constexpr int kLostAtOnce = 4;
constexpr nanoseconds kLostPause = std::chrono::milliseconds(10);
constexpr int kMostLostPauses = 5;
constexpr int kMostLost = 50;

// A refusal waits for no more writes than this to store its limits.
constexpr int kMostRepairs = 3;

constexpr std::string_view kFailedCheck = "ConditionalCheckFailed";

constexpr milliseconds kFirstPause{25};
constexpr int kMostDoublings = 4;

// How long the outcome of writes is sought, and how long an adjust is tried.
constexpr nanoseconds kPatience = std::chrono::seconds(10);

bool OnlyDebits(const Part& part) {
  return std::ranges::all_of(part.amounts, [](std::int64_t amount) { return amount >= 0; });
}

Error TooLate(const BucketKey& key) {
  return {Code::kDeadlineExceeded,
          fmt::format("{}/{}: the table did not answer in time", key.entity, key.resource)};
}

Error LostTooOften(const BucketKey& key, int lost) {
  return {Code::kUnavailable, fmt::format("{}/{}: {} writes lost to other processes; try again",
                                          key.entity, key.resource, lost)};
}

// An item as a failed condition returns it, in a transaction too.
const std::optional<Item>& ReturnedItem(const WriteFailure& failure) {
  if (failure.reasons.empty()) return failure.old_item;
  return failure.reasons.front().item;
}

}  // namespace

BucketActor::BucketActor(ActorTerms& terms, BucketKey key)
    : terms_(terms), key_(std::move(key)), fence_(terms.instance) {}

ChoiceTerms BucketActor::Terms() const { return {terms_.refusal_age, most_takes_}; }

BucketActor::Opinion BucketActor::Judge(const Part& take, const Moment& moment) const {
  using Kind = Opinion::Kind;
  if (!seen_.is_known()) return {.kind = Kind::kUnknown};
  if (const auto other = DividedOtherwise(take, seen_)) {
    return {.kind = Kind::kDivided, .is_missing = other->is_missing};
  }
  const ChoiceTerms terms = Terms();
  const TakeView view(seen_, terms, moment.at);
  BucketBatch batch(seen_, take, DateOf(take, moment.at), moment.at);
  if (view.IsOutdated(take, batch)) return {.kind = Kind::kOutdated};
  Opinion opinion{.kind = Kind::kMayPay,
                  .verdict = batch.Judge(take.amounts, parts_.UsedOf(*take.target))};
  const bool fits = opinion.verdict.wait == milliseconds(0);
  const bool is_answer = !fits || take.is_nothing();
  if (is_answer && !view.IsYoung(take)) return {.kind = Kind::kUnknown};
  if (!fits) opinion.kind = Kind::kRefused;
  return opinion;
}

bool BucketActor::WantsRepair(const Part& take, const Moment& moment) const {
  const bool configures = take.target->source == LimitSource::kConfigured && !take.is_nothing();
  if (!configures || seen_.image() == nullptr) return false;
  if (repaired_at_ + terms_.repair_rest > moment.at) return false;
  return !BucketBatch(seen_, take, DateOf(take, moment.at), moment.at).conforms();
}

std::optional<Status> BucketActor::CheckAdjust(const Part& adjust, const Moment& moment) const {
  if (!seen_.is_known()) return std::nullopt;
  BucketBatch batch(seen_, adjust, DateOf(adjust, moment.at), moment.at);
  if (batch.AddAdjust(adjust)) return Status();
  return Status(Fail(TooMuchDebt(key_)));
}

bool BucketActor::IsAging(const Moment& moment) const {
  const bool is_old = seen_.seen_at() + terms_.refusal_age / 2 < moment.at;
  return is_old && !reading_ && flights_.empty();
}

void BucketActor::Accept(Part part) {
  wake_ = std::min({wake_, part.answer_by, part.drop_at});
  if (part.kind == Part::Kind::kAdjust) part.twin = parts_.FindAdjust(part.token);
  parts_.Add(std::move(part));
}

BucketActor::Withdrawal BucketActor::Withdraw(PartId take) {
  const Part* part = parts_.Find(take);
  if (part == nullptr) return {.is_gone = true};
  if (part->carried) return {};
  return {.is_gone = true, .in_doubt = parts_.Take(take).repeated};
}

bool BucketActor::Drop(PartId take, bool stays, const Moment& moment) {
  Part* part = parts_.Find(take);
  if (part == nullptr) return true;
  part->answered = true;
  part->keeps = stays;
  if (part->carried) return false;
  Part dropped = parts_.Take(take);
  if (stays) GiveBack(std::move(dropped), moment);
  return true;
}

// The opposite of a take whose caller was answered. One whose caller admitted its request had not
// been charged: it is debited.
void BucketActor::GiveBack(Part part, const Moment& moment) {
  if (!part.keeps) {
    for (std::int64_t& amount : part.amounts) amount = -amount;
  }
  parts_.Add({.id = ++terms_.last_part,
              .kind = Part::Kind::kGiveBack,
              .target = std::move(part.target),
              .amounts = std::move(part.amounts),
              .now = DateOf(part, moment.at),
              .came = moment.at,
              .drop_at = moment.at + kPatience,
              .answered = true});
}

Instant BucketActor::SupersedeAt(const Moment& moment) const {
  if (flights_.empty()) return moment.at;
  const bool is_fenced = flights_.back().fenced.has_value();
  if (!is_fenced || flights_.size() >= kMostFlights) return kNoTime;
  const nanoseconds slow = moment.round_trip.value_or(kMostSlow) * kSlowRoundTrips;
  return flights_.back().sent + std::clamp(slow, kLeastSlow, kMostSlow);
}

bool BucketActor::MaySend(const Moment& moment) const {
  if (moment.at < pause_until_) return false;
  if (fence_.unanswered() >= WriteFence::kMostUnanswered) return false;
  return SupersedeAt(moment) <= moment.at;
}

// The next response brings an image too, unless it is late.
Instant BucketActor::LookAt(const Moment& moment) const {
  return flights_.empty() ? moment.at : flights_.front().sent + kMostSlow;
}

void BucketActor::Continue(const Moment& moment, Step& step) {
  const bool looks = parts_.HasLook() && LookAt(moment) <= moment.at;
  if (std::exchange(refreshes_, false) || looks) Read(step);
  while (MaySend(moment) && Advance(moment, step)) {
  }
  SetWake(moment);
}

// False: nothing more is to be done now.
bool BucketActor::Advance(const Moment& moment, Step& step) {
  if (!HasWork(parts_)) {
    Probe(moment, step);
    return false;
  }
  needs_read_ = !seen_.is_known();
  if (needs_read_) {
    Read(step);
    return false;
  }
  Choice choice = Choose(parts_, seen_, Terms(), moment);
  for (auto& [part, outcome] : choice.ends) End(part, std::move(outcome), step);
  if (!choice.parts.empty()) return Send(std::move(choice), moment, step);
  if (choice.needs_read) {
    needs_read_ = true;
    Read(step);
    return false;
  }
  if (choice.ends.empty()) Probe(moment, step);
  return !choice.ends.empty();
}

void BucketActor::Read(Step& step) {
  if (std::exchange(reading_, true)) return;
  step.read = true;
}

std::optional<WriteFence::Guard> BucketActor::Begin(const std::vector<PartId>& parts,
                                                    const Moment& moment) {
  const auto draw = static_cast<std::uint32_t>(terms_.draw());
  const BucketImage* image = seen_.image();
  if (image == nullptr) return fence_.BeginCreation(parts, moment.bucket_time, draw);
  const FencedItem item{.slots = image->slots, .rf = image->bucket.time};
  return fence_.Begin(parts, item, moment.bucket_time, draw);
}

Result<BucketPlan> BucketActor::Plan(const Choice& choice, const WriteFence::Guard* guard) const {
  BucketRequest request = choice.batch->Request();
  request.writes = terms_.writes;
  request.failed_writes = failed_writes_;
  request.guard = guard;
  request.expects_refill = choice.expects_refill;
  if (const BucketImage* image = seen_.image()) {
    return PlanWrite(terms_.keys, *image, request, choice.now);
  }
  return PlanCreate(terms_.keys, seen_.owner(), request, choice.now);
}

// True: parts ended, since nothing is to be written or can be.
bool BucketActor::Send(Choice choice, const Moment& moment, Step& step) {
  const std::optional<WriteFence::Guard> guard = Begin(choice.parts, moment);
  Result<BucketPlan> plan = Plan(choice, guard ? &*guard : nullptr);
  const bool is_needless = plan && (plan->settled || (plan->conforms && choice.takes_nothing()));
  if (!plan || is_needless) {
    if (guard) fence_.OnNotSent(guard->write);
    bool has_ended = false;
    for (const PartId id : choice.parts) {
      Part& part = *parts_.Find(id);
      if (part.carried) continue;
      has_ended = true;
      if (plan) {
        PartApplied(part, moment, step);
      } else {
        End(id, {.kind = PartOutcome::Kind::kFailed, .error = plan.error()}, step);
      }
    }
    return has_ended;
  }
  for (const PartId id : choice.parts) {
    Part& part = *parts_.Find(id);
    part.carried = true;
    if (part.kind == Part::Kind::kRepair) repaired_at_ = moment.at;
  }
  if (guard && terms_.observe_plan) terms_.observe_plan(guard->value, choice.batch->Request());
  Flight flight{.id = ++last_flight_,
                .parts = std::move(choice.parts),
                .sent = moment.at,
                .planned_at = seen_.image() == nullptr ? UnixMillis{} : seen_.image()->bucket.time,
                .moves_rf = plan->moves_rf,
                .foreseen = !image_is_read_};
  if (guard) flight.fenced = guard->write;
  if (seen_.is_absent()) flight.created = plan->writes.front().item;
  flight.records = choice.recorded.has_value();
  if (flight.records) {
    plan->writes.push_back(PlanTokenRecord(terms_.keys, key_, *choice.recorded, choice.now));
  }
  step.sends.push_back({.write = flight.id, .writes = std::move(plan->writes)});
  if (step.sends.back().writes.size() > 1) {
    step.sends.back().token = fmt::format("{:016x}{:016x}", terms_.draw(), terms_.draw());
  }
  flights_.push_back(std::move(flight));
  return false;
}

// Nothing is to be written, but earlier writes may still be applied. If the item did not exist, one
// of them creates it; then an image shows that.
void BucketActor::Probe(const Moment& moment, Step& step) {
  if (fence_.unanswered() == 0) return;
  if (seen_.image() == nullptr) {
    Pause(kFirstPause, moment);
    return Read(step);
  }
  const std::optional<WriteFence::Guard> guard = Begin({}, moment);
  if (!guard) return;
  Flight flight{.id = ++last_flight_, .fenced = guard->write, .parts = {}, .sent = moment.at};
  step.sends.push_back({.write = flight.id, .writes = {}});
  step.sends.back().writes.push_back(PlanProbe(terms_.keys, key_, *guard));
  flights_.push_back(std::move(flight));
}

void BucketActor::OnRead(Result<BucketItems> items, const Moment& moment, Step& step) {
  reading_ = false;
  if (!items) {
    last_error_ = items.error();
    EndLooks(items.error(), step);
    if (needs_read_ || !seen_.is_known()) FailPending(items.error(), moment, step);
  } else if (items->item) {
    LearnItem(*items->item, {.id = last_flight_}, moment, step);
  } else {
    seen_.LearnAbsent(std::move(items->owner), items->divided, moment.at);
    EndLooks(std::nullopt, step);
  }
  Continue(moment, step);
}

void BucketActor::OnTime(const Moment& moment, Step& step) {
  Expire(moment, step);
  if (doubt_since_ && *doubt_since_ + kPatience <= moment.at) {
    doubt_since_.reset();
    flights_.clear();
    Settle(fence_.Abandon(), true, moment, step);
  }
  Continue(moment, step);
}

void BucketActor::OnWrite(std::uint64_t write, WriteOutcome outcome, const Moment& moment,
                          Step& step) {
  const auto found = std::ranges::find(flights_, write, &Flight::id);
  if (found == flights_.end()) {
    // Its round is settled already.
    if (outcome && outcome->item) LearnItem(*outcome->item, {.id = write}, moment, step);
    return Continue(moment, step);
  }
  const Flight flight = std::move(*found);
  flights_.erase(found);
  step.divide |= outcome ? outcome->key_range_throttled : outcome.error().key_range_throttled;
  if (outcome) {
    Applied(flight, std::move(*outcome), moment, step);
  } else if (outcome.error().kind == FailureClass::kConditional) {
    Failed(flight, std::move(outcome.error()), moment, step);
  } else if (outcome.error().maybe_applied || outcome.error().kind == FailureClass::kAmbiguous) {
    Lost(flight, moment, step);
  } else {
    NotSent(flight, outcome.error(), moment, step);
  }
  Continue(moment, step);
}

void BucketActor::Applied(const Flight& flight, WriteAnswer answer, const Moment& moment,
                          Step& step) {
  failed_writes_ = lost_ = pauses_ = 0;
  last_error_.reset();
  most_takes_ = kMostTakes;
  const std::optional<Item>& item = answer.item ? answer.item : flight.created;
  auto image = item ? ReadImage(*item) : Fail(Code::kNotFound, "");
  if (image) {
    using Source = SeenBucket::Source;
    const Source moved = flight.foreseen ? Source::kMoved : Source::kOwn;
    seen_.Learn(std::move(*image), flight.moves_rf ? moved : Source::kAdded, flight.id, moment.at);
    image_is_read_ = false;
    step.divide |= seen_.image()->IsHotAt(moment.bucket_time);
    EndLooks(std::nullopt, step);
  } else {
    // A feature that another client switched on in the meantime is for the next part to see.
    seen_.Forget();
  }
  if (flight.fenced) {
    Settle(fence_.OnApplied(*flight.fenced), false, moment, step);
  } else {
    Settle({.applied = flight.parts, .not_applied = {}, .unknown = {}}, false, moment, step);
  }
}

// The slot is looked at first: the condition may have failed because an earlier write was applied.
void BucketActor::Failed(const Flight& flight, WriteFailure failure, const Moment& moment,
                         Step& step) {
  const bool is_transaction = !failure.reasons.empty();
  if (flight.records && !failure.reasons.empty() && failure.reasons.back().code == kFailedCheck &&
      failure.ReasonOf(0) != kFailedCheck) {
    return CountedElsewhere(flight, moment, step);
  }
  const bool on_item = !is_transaction || failure.ReasonOf(0) == kFailedCheck;
  const bool conflicts =
      failure.ReasonOf(0) == "TransactionConflict" || failure.ReasonOf(1) == "TransactionConflict";
  if (!on_item) {
    if (!conflicts) seen_.Forget();  // the owner's record changed
    failure.kind = FailureClass::kConflict;
    return NotSent(flight, failure, moment, step);
  }
  ++failed_writes_;
  const std::optional<Item>& item = ReturnedItem(failure);
  std::optional<FencedItem> fenced;
  if (item) fenced = FencedItem{ReadSlots(*item), {GetNumber(*item, "rf").value_or(0)}};
  const WriteFence::Settlement settled =
      flight.fenced
          ? fence_.OnFailed(*flight.fenced, fenced)
          : WriteFence::Settlement{.applied = {}, .not_applied = flight.parts, .unknown = {}};
  const bool was_applied = !settled.applied.empty();
  Settle(settled, false, moment, step);
  if (item) {
    LearnItem(*item, flight, moment, step);
  } else {
    seen_.Forget();
  }
  if (!was_applied) LostToOthers(flight, moment, step);
}

// The token is recorded, by a write of another process: the adjust counts already.
void BucketActor::CountedElsewhere(const Flight& flight, const Moment& moment, Step& step) {
  if (flight.fenced) Settle(fence_.OnNotSent(*flight.fenced), false, moment, step);
  for (const PartId id : flight.parts) {
    if (parts_.Find(id) != nullptr) End(id, {.kind = PartOutcome::Kind::kApplied}, step);
  }
}

// If others moved rf, the amounts were not in the way; else they took, and less may fit.
void BucketActor::LostToOthers(const Flight& flight, const Moment& moment, Step& step) {
  ++lost_;
  last_error_ = LostTooOften(key_, lost_);
  const BucketImage* image = seen_.image();
  if (image != nullptr && image->bucket.time == flight.planned_at) {
    most_takes_ = std::max<std::size_t>(std::min(flight.parts.size(), most_takes_) / 2, 1);
  }
  if (lost_ >= kLostAtOnce) {
    const nanoseconds longest = kLostPause * std::min(lost_ - kLostAtOnce + 1, kMostLostPauses);
    pause_until_ = moment.at + nanoseconds(static_cast<std::int64_t>(
                                   terms_.draw() % static_cast<std::uint64_t>(longest.count())));
  }
  for (const PartId id : flight.parts) {
    Part* part = parts_.Find(id);
    if (part == nullptr || part->carried) continue;
    const int most = part->kind == Part::Kind::kRepair ? kMostRepairs : kMostLost;
    if (++part->lost < most || part->is_adjust()) continue;
    End(id, {.kind = PartOutcome::Kind::kContended}, step);
  }
}

void BucketActor::NotSent(const Flight& flight, const WriteFailure& failure, const Moment& moment,
                          Step& step) {
  if (flight.fenced) {
    Settle(fence_.OnNotSent(*flight.fenced), false, moment, step);
  } else {
    Settle({.applied = {}, .not_applied = flight.parts, .unknown = {}}, false, moment, step);
  }
  Pause(kFirstPause, moment);
  last_error_ = failure.error;
  const bool is_conflict = failure.kind == FailureClass::kConflict;
  const bool may_pass = is_conflict || failure.kind == FailureClass::kThrottle ||
                        failure.kind == FailureClass::kTransient ||
                        failure.kind == FailureClass::kDeadline;
  for (const PartId id : flight.parts) {
    Part* part = parts_.Find(id);
    if (part == nullptr || part->carried) continue;
    ++part->lost;
    if (may_pass && part->is_adjust()) continue;
    if (is_conflict && part->lost < kMostLost) continue;
    End(id, {.kind = PartOutcome::Kind::kFailed, .error = failure.error}, step);
  }
}

// There will be no response; the next write settles it.
void BucketActor::Lost(const Flight& flight, const Moment& moment, Step& step) {
  Pause(kFirstPause, moment);
  for (const PartId id : flight.parts) {
    Part* part = parts_.Find(id);
    if (part == nullptr || part->kind != Part::Kind::kRepair || part->answered) continue;
    Report(*part, {.kind = PartOutcome::Kind::kFailed}, step);
    part->answered = true;
  }
  if (!flight.fenced) {
    Settle({.applied = {}, .not_applied = {}, .unknown = flight.parts}, false, moment, step);
  } else if (!doubt_since_) {
    doubt_since_ = moment.at;
  }
}

void BucketActor::Settle(const WriteFence::Settlement& settled, bool is_final, const Moment& moment,
                         Step& step) {
  for (const PartId id : settled.applied) {
    if (Part* part = parts_.Find(id)) PartApplied(*part, moment, step);
  }
  for (const PartId id : settled.unknown) {
    if (Part* part = parts_.Find(id)) PartUnknown(*part, is_final, step);
  }
  for (const PartId id : settled.not_applied) {
    if (Part* part = parts_.Find(id)) PartNotApplied(*part, moment);
  }
  if (fence_.unanswered() > 0) return;
  doubt_since_.reset();
  flights_.clear();
}

void BucketActor::PartApplied(Part& part, const Moment& moment, Step& step) {
  part.carried = false;
  if (part.kind == Part::Kind::kTake && part.answered && !part.keeps) {
    return GiveBack(parts_.Take(part.id), moment);
  }
  End(part.id, {.kind = PartOutcome::Kind::kApplied, .available = part.available}, step);
}

void BucketActor::PartNotApplied(Part& part, const Moment& moment) {
  part.carried = false;
  if (part.is_adjust() || !part.answered) return;
  if (part.keeps) return GiveBack(parts_.Take(part.id), moment);
  parts_.Take(part.id);
}

// Tokens may be charged twice, and the decision says so; they are never given back twice.
void BucketActor::PartUnknown(Part& part, bool is_final, Step& step) {
  part.carried = false;
  const bool may_repeat = !is_final && !part.repeated && !part.answered && OnlyDebits(part);
  if (std::exchange(part.repeated, true); may_repeat) return;
  ++step.forfeits;
  End(part.id,
      {.kind = PartOutcome::Kind::kFailed,
       .in_doubt = true,
       .error = Error{Code::kUnavailable,
                      fmt::format("{}/{}: the table did not say whether it was written",
                                  key_.entity, key_.resource)}},
      step);
}

void BucketActor::LearnItem(const Item& item, const Flight& flight, const Moment& moment,
                            Step& step) {
  auto image = ReadImage(item);
  if (!image) {
    seen_.Forget();
    EndLooks(image.error(), step);
    return FailPending(image.error(), moment, step);
  }
  step.divide |= image->IsHotAt(moment.bucket_time);
  if (seen_.Learn(std::move(*image), SeenBucket::Source::kRead, flight.id, moment.at)) {
    image_is_read_ = true;
  }
  EndLooks(std::nullopt, step);
}

void BucketActor::Learn(BucketImage image, const Moment& moment) {
  if (seen_.Learn(std::move(image), SeenBucket::Source::kRead, last_flight_, moment.at)) {
    image_is_read_ = true;
  }
}

void BucketActor::Pause(milliseconds first, const Moment& moment) {
  const nanoseconds longest = first * (1 << std::min(pauses_++, kMostDoublings));
  const nanoseconds least = longest / 2;
  const auto more = static_cast<std::uint64_t>((longest - least).count());
  pause_until_ = moment.at + least + nanoseconds(static_cast<std::int64_t>(terms_.draw() % more));
}

void BucketActor::Expire(const Moment& moment, Step& step) {
  std::vector<PartId> expired;
  for (const Part& part : parts_.all()) {
    const bool is_answer_due = !part.answered && part.answer_by <= moment.at;
    if (is_answer_due || part.drop_at <= moment.at) expired.push_back(part.id);
  }
  for (const PartId id : expired) Expired(id, moment, step);
}

void BucketActor::Expired(PartId id, const Moment& moment, Step& step) {
  Part& part = *parts_.Find(id);
  const bool ends = !part.carried && (part.drop_at <= moment.at || !part.is_adjust());
  if (!part.answered) {
    PartOutcome late{
        .kind = PartOutcome::Kind::kFailed,
        .in_doubt = part.repeated || (!ends && part.kind != Part::Kind::kLook),
        .error = part.answer_by > moment.at && last_error_ ? *last_error_ : TooLate(key_)};
    const bool is_contended = part.kind == Part::Kind::kTake && part.lost > 0 && !late.in_doubt;
    if (is_contended) late = {.kind = PartOutcome::Kind::kContended};
    const bool is_owed = ends && part.keeps && !is_contended;
    if (ends && !is_owed) return End(id, std::move(late), step);
    Report(part, std::move(late), step);
    part.answered = true;
    if (is_owed) GiveBack(parts_.Take(id), moment);
    return;
  }
  if (!ends) return;
  if (part.is_adjust()) ++step.forfeits;
  End(id, {.kind = PartOutcome::Kind::kFailed, .error = TooLate(key_)}, step);
}

// A read failed, or the item cannot be used. Adjusts are tried again if that may help.
void BucketActor::FailPending(const Error& error, const Moment& moment, Step& step) {
  const bool may_pass = error.code == Code::kUnavailable || error.code == Code::kDeadlineExceeded;
  std::vector<PartId> failed;
  for (const Part& part : parts_.all()) {
    if (!part.carried && !(may_pass && part.is_adjust())) failed.push_back(part.id);
  }
  for (const PartId id : failed) {
    End(id, {.kind = PartOutcome::Kind::kFailed, .error = error}, step);
  }
  if (!parts_.is_empty()) Pause(kFirstPause, moment);
}

// An image came, or there is none to be had.
void BucketActor::EndLooks(const std::optional<Error>& error, Step& step) {
  while (const Part* look = parts_.FindLook()) {
    const auto kind = error ? PartOutcome::Kind::kFailed : PartOutcome::Kind::kSeen;
    End(look->id, {.kind = kind, .error = error}, step);
  }
  if (!error) {
    for (Part& part : parts_.all()) part.has_image = true;
  }
}

void BucketActor::Report(const Part& part, PartOutcome outcome, Step& step) {
  outcome.call = part.answered ? 0 : part.call;
  outcome.in_doubt |= part.repeated;
  outcome.index = part.index;
  if (outcome.call != 0 || outcome.token) step.outcomes.push_back(std::move(outcome));
}

// The part leaves, with those that repeat it.
void BucketActor::End(PartId id, PartOutcome outcome, Step& step) {
  const Part part = parts_.Take(id);
  for (const Part& other : std::vector<Part>(parts_.TwinsOf(id))) {
    parts_.Take(other.id);
    Report(other, outcome, step);
  }
  if (part.kind == Part::Kind::kAdjust) outcome.token = part.token;
  Report(part, std::move(outcome), step);
}

void BucketActor::SetWake(const Moment& moment) {
  wake_ = kNoTime;
  for (const Part& part : parts_.all()) {
    if (!part.answered) wake_ = std::min(wake_, part.answer_by);
    if (!part.carried) wake_ = std::min(wake_, part.drop_at);
  }
  if (doubt_since_) wake_ = std::min(wake_, *doubt_since_ + kPatience);
  const bool has_more = fence_.unanswered() > 0 || HasWork(parts_);
  // What is due already was done, or waits for an event.
  for (const Instant at :
       {parts_.HasLook() ? LookAt(moment) : kNoTime, has_more ? SupersedeAt(moment) : kNoTime,
        has_more ? pause_until_ : kNoTime}) {
    if (at > moment.at) wake_ = std::min(wake_, at);
  }
}

}  // namespace weir::dynamo
