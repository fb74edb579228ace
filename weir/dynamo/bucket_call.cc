#include "weir/dynamo/bucket_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace weir::dynamo {
namespace {

// Each round that fails was won by somebody else; so many lost in a row say that there are too many
// on this bucket. After the first few each one waits, so that they do not all come at once.
constexpr int kMostRounds = 50;
constexpr int kRoundsAtOnce = 4;

// Of each part: the bucket, its owner, and shard 1.
constexpr std::size_t kReadsOfPart = 3;

// Others may move rf before parameters are stored; the refusal waits for no more.
constexpr int kMostRepairs = 3;

constexpr milliseconds kFirstPause{25};
constexpr int kMostDoublings = 4;

// Of an adjust, and of what may have been charged: any other acquire is refused.
Error Contended(const BucketKey& key, int rounds) {
  return {
      Code::kUnavailable,
      fmt::format("{}/{}: {} writes lost to others; try again", key.entity, key.resource, rounds),
      kContendedWait};
}

Error DividedOtherwise(const BucketKey& key) {
  return {Code::kAborted,
          fmt::format("{}/{} is being divided; try again", key.entity, key.resource)};
}

}  // namespace

BucketCall::BucketCall(Keys keys, std::vector<Charge> charges, CallTerms terms)
    : keys_(std::move(keys)),
      charges_(std::move(charges)),
      terms_(std::move(terms)),
      now_(terms_.now),
      parts_(charges_.size()),
      order_(charges_.size()),
      repairs_left_(charges_.size(), kMostRepairs) {
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::ranges::sort(order_, {}, [this](std::size_t i) { return charges_[i].target->key; });
}

CallStep BucketCall::Begin(std::vector<std::optional<BucketImage>> images) {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (!images[i]) continue;
    parts_[i].image = std::move(images[i]);
    parts_[i].state = State::kKnown;
    parts_[i].remembered = true;
    if (parts_[i].image->repaired_at > terms_.repaired_before) repairs_left_[i] = 0;
  }
  return Go();
}

CallStep BucketCall::OnRead(Result<std::vector<std::optional<Item>>> items) {
  if (!items) error_ = std::move(items.error());
  for (std::size_t i = 0; i < reading_.size(); ++i) {
    Part& part = parts_[reading_[i]];
    part.state = State::kUnknown;
    if (error_) continue;
    const auto* const read = &(*items)[kReadsOfPart * i];
    part.owner = ReadOwner(read[1]);
    if (read[0]) {
      Learn(part, *read[0]);
    } else {
      unknown_.push_back(charges_[reading_[i]].target->key);
      part.state = State::kAbsent;
      part.divided = read[2] && GetNumber(*read[2], "shard_count").value_or(1) > 1;
    }
  }
  reading_.clear();
  return Go();
}

CallStep BucketCall::OnTurn(std::size_t charge, std::optional<BucketImage> newest) {
  Part& part = parts_[charge];
  part.state = part.created ? State::kAbsent : State::kKnown;
  if (std::exchange(part.repairs, false)) ++repairs_left_[charge];
  if (newest) {
    part.image = std::move(newest);
    part.state = State::kKnown;
  }
  part.remembered = false;
  return Go();
}

CallStep BucketCall::Resume() { return Go(); }

void BucketCall::SetElapsed(nanoseconds elapsed) {
  elapsed_ = elapsed;
  now_ = terms_.now + kDatedAnewAfter * (elapsed / kDatedAnewAfter);
}

bool BucketCall::Waits() const {
  return std::ranges::any_of(parts_, [](const Part& part) {
    return part.state == State::kSent || part.state == State::kReading;
  });
}

CallStep BucketCall::Go() {
  CallStep step;
  if (!Waits()) {
    if (!error_) GoOn(step);
    const bool goes_on = !step.reads.empty() || !step.sends.empty() || step.pause > milliseconds(0);
    if (!goes_on) step = Answer(std::move(step));
  }
  step.learned = std::exchange(learned_, {});
  step.unknown = std::exchange(unknown_, {});
  step.throttled = std::exchange(throttled_, {});
  return step;
}

void BucketCall::GoOn(CallStep& step) {
  const bool lost = lost_ || rounds_ > 0;
  if (lost && elapsed_ >= terms_.patience) return GiveUp();
  if (std::exchange(conflict_, false)) {
    step.pause = NextPause();
    return;
  }
  ReadUnknown(step);
  if (step.reads.empty()) PlanAll(step);
}

void BucketCall::GiveUp() {
  if (terms_.token || in_doubt_) {
    error_ = Contended(charges_.front().target->key, rounds_);
  } else {
    refused_ = contended_ = in_order_ = true;
  }
}

void BucketCall::ReadUnknown(CallStep& step) {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (parts_[i].state != State::kUnknown) continue;
    const BucketKey& key = charges_[i].target->key;
    step.reads.push_back(keys_.Bucket(key));
    step.reads.push_back(keys_.Entity(key.entity));
    // Where shard 0 is gone, another one may not be.
    step.reads.push_back(
        keys_.Bucket({key.entity, key.resource, std::max<std::uint32_t>(key.shard, 1)}));
    parts_[i].state = State::kReading;
    reading_.push_back(i);
  }
}

Result<BucketPlan> BucketCall::PlanOf(std::size_t charge) const {
  const Part& part = parts_[charge];
  const BucketRequest request{charges_[charge], terms_.token, terms_.writes, part.failed_writes};
  if (part.state == State::kAbsent) return PlanCreate(keys_, part.owner, request, now_);
  return PlanWrite(keys_, *part.image, request, now_);
}

bool BucketCall::Fits(std::size_t charge) {
  const std::uint32_t shards = terms_.shards[charge];
  const Part& part = parts_[charge];
  const Target& target = *charges_[charge].target;
  if (shards == 0) return true;
  const bool absent = part.state == State::kAbsent;
  if (absent ? target.key.shard > 0 || shards > 1 || part.divided : part.image->shards < shards) {
    incomplete_.push_back({target.key.entity, target.key.resource, 0});
    return false;
  }
  if (absent || terms_.token) return true;
  for (std::size_t i = 0; i < target.limits.size(); ++i) {
    const Quota share = ShareOf(target.limits[i].quota, part.image->shards, target.key.shard);
    if (charges_[charge].amounts[i] > share.capacity) return false;
  }
  return true;
}

// What others did since is seen at most so late: they may have given back, or a limit is greater.
bool BucketCall::IsTooOld(const Part& part) const {
  const bool is_answer = part.plan.settled || part.plan.retry_after > milliseconds(0);
  return is_answer && !terms_.token && part.state == State::kKnown && part.remembered &&
         part.image->seen_at < terms_.trusted_since;
}

void BucketCall::PlanAll(CallStep& step) {
  refused_ = false;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    Part& part = parts_[i];
    if (part.state == State::kDone) continue;
    if (!Fits(i)) {
      error_ = DividedOtherwise(charges_[i].target->key);
      return;
    }
    auto plan = PlanOf(i);
    if (!plan) {
      error_ = std::move(plan.error());
      return;
    }
    part.plan = std::move(*plan);
    if (IsTooOld(part)) {
      part.state = State::kUnknown;
      continue;
    }
    refused_ = refused_ || part.plan.retry_after > milliseconds(0);
    if (part.plan.settled) part.state = State::kDone;
  }
  if (refused_) return SendRepairs(step);
  ForgetContended();
  ReadUnknown(step);
  if (step.reads.empty()) SendAll(step);
}

// Others refill all the time: a refill that is planned from what is remembered would only fail.
void BucketCall::ForgetContended() {
  for (Part& part : parts_) {
    part.from_memory = part.state == State::kKnown && std::exchange(part.remembered, false);
    if (!part.from_memory || !part.plan.exclusive) continue;
    if (part.image->contended) part.state = State::kUnknown;
  }
}

milliseconds BucketCall::NextPause() {
  return kFirstPause * (1 << std::min(pauses_++, kMostDoublings));
}

void BucketCall::SendAll(CallStep& step) {
  if (std::exchange(lost_, false)) ++rounds_;
  if (rounds_ >= kRoundsAtOnce && !std::exchange(rested_, true)) {
    step.pause = NextPause();
    return;
  }
  rested_ = false;
  if (rounds_ > kMostRounds) return GiveUp();
  for (const std::size_t i : order_) {
    Part& part = parts_[i];
    if (part.state == State::kDone) continue;
    if (in_order_ && !step.sends.empty()) return;
    part.state = State::kSent;
    part.created.reset();
    if (part.plan.writes.front().kind == Write::Kind::kPut) {
      part.created = part.plan.writes.front().item;
    }
    step.sends.push_back({.charge = i,
                          .writes = std::move(part.plan.writes),
                          .repeatable = terms_.token.has_value(),
                          .in_turn = part.plan.exclusive});
  }
}

void BucketCall::SendRepairs(CallStep& step) {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    Part& part = parts_[i];
    if (part.state != State::kKnown || repairs_left_[i] == 0) continue;
    const BucketRequest request{charges_[i], terms_.token, terms_.writes, part.failed_writes};
    auto repair = PlanRepair(keys_, *part.image, request, now_);
    if (!repair) continue;
    --repairs_left_[i];
    part.state = State::kSent;
    part.created.reset();
    part.repairs = true;
    CallStep::Send send{
        .charge = i, .writes = {}, .repeatable = false, .in_turn = true, .repairs = true};
    send.writes.push_back(*std::move(repair));
    step.sends.push_back(std::move(send));
  }
}

}  // namespace weir::dynamo
