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

constexpr milliseconds kFirstPause{25};
constexpr int kMostDoublings = 4;

Error Contended(const BucketKey& key) {
  return {Code::kUnavailable,
          fmt::format("{}/{}: {} writes lost against others; try again", key.entity, key.resource,
                      kMostRounds),
          milliseconds(100)};
}

Charge Negated(const Charge& charge) {
  Charge opposite = charge;
  for (std::int64_t& amount : opposite.amounts) amount = -amount;
  return opposite;
}

}  // namespace

BucketCall::BucketCall(Keys keys, std::vector<Charge> charges, std::optional<AdjustToken> token,
                       UnixMillis now)
    : keys_(std::move(keys)),
      charges_(std::move(charges)),
      token_(token),
      began_(now),
      now_(now),
      parts_(charges_.size()),
      order_(charges_.size()) {
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::ranges::sort(order_, {}, [this](std::size_t i) { return charges_[i].target->key; });
}

CallStep BucketCall::Begin(std::vector<std::optional<BucketImage>> images) {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (!images[i]) continue;
    parts_[i].image = std::move(images[i]);
    parts_[i].state = State::kKnown;
  }
  return Go();
}

CallStep BucketCall::OnRead(Result<std::vector<std::optional<Item>>> items) {
  if (!items) error_ = std::move(items.error());
  for (std::size_t i = 0; i < reading_.size(); ++i) {
    Part& part = parts_[reading_[i]];
    part.state = State::kUnknown;
    if (error_) continue;
    part.owner = ReadOwner((*items)[2 * i + 1]);
    if (const auto& item = (*items)[2 * i]) {
      Learn(part, *item);
    } else {
      part.state = State::kAbsent;
    }
  }
  reading_.clear();
  return Go();
}

CallStep BucketCall::OnWrite(std::size_t charge, tl::expected<WriteAnswer, WriteFailure> outcome) {
  if (outcome) {
    Applied(charge, *outcome);
  } else {
    NotApplied(charge, std::move(outcome.error()));
  }
  return Go();
}

CallStep BucketCall::OnTurn(std::size_t charge, std::optional<BucketImage> newest) {
  Part& part = parts_[charge];
  part.state = part.created ? State::kAbsent : State::kKnown;
  if (newest) {
    part.image = std::move(newest);
    part.state = State::kKnown;
  }
  --rounds_;
  return Go();
}

CallStep BucketCall::Resume() { return Go(); }

void BucketCall::SetElapsed(nanoseconds elapsed) {
  now_ = began_ + kDatedAnewAfter * (elapsed / kDatedAnewAfter);
}

void BucketCall::Learn(Part& part, const Item& item) {
  auto image = ReadImage(item);
  if (!image) {
    part.state = State::kUnknown;
    error_ = std::move(image.error());
    return;
  }
  learned_.push_back(*image);
  part.image = std::move(*image);
  part.state = State::kKnown;
}

void BucketCall::Applied(std::size_t charge, const WriteAnswer& answer) {
  Part& part = parts_[charge];
  part.state = State::kDone;
  // A feature that somebody switched on in the meantime is the next call's to see.
  const std::optional<Item>& item = answer.item ? answer.item : part.created;
  auto image = item ? ReadImage(*item) : Fail(Code::kNotFound, "");
  if (image) {
    learned_.push_back(std::move(*image));
  } else {
    unknown_.push_back(charges_[charge].target->key);
  }
}

void BucketCall::NotApplied(std::size_t charge, WriteFailure failure) {
  Part& part = parts_[charge];
  part.state = State::kUnknown;
  switch (failure.kind) {
    case FailureClass::kConditional:
      return Cancelled(part, failure);
    case FailureClass::kConflict:
      conflict_ = true;
      return;
    case FailureClass::kAmbiguous:
      // Charged or not, nobody knows: it is asked for again, so it counts once at least.
      in_doubt_ = true;
      unknown_.push_back(charges_[charge].target->key);
      return;
    default:
      unknown_.push_back(charges_[charge].target->key);
      in_doubt_ = in_doubt_ || failure.maybe_applied;
      error_ = std::move(failure.error);
  }
}

void BucketCall::Cancelled(Part& part, const WriteFailure& failure) {
  if (failure.reasons.empty()) {
    if (failure.old_item) return Learn(part, *failure.old_item);
    return;  // gone: to be read again, with its owner
  }
  conflict_ = conflict_ || failure.ReasonOf(0) == "TransactionConflict" ||
              failure.ReasonOf(1) == "TransactionConflict";
  const auto& bucket = failure.reasons.front();
  if (bucket.code == "ConditionalCheckFailed" && bucket.item) Learn(part, *bucket.item);
}

bool BucketCall::Waits() const {
  return std::ranges::any_of(parts_, [](const Part& part) {
    return part.state == State::kSent || part.state == State::kReading;
  });
}

CallStep BucketCall::Go() {
  CallStep step;
  if (!Waits()) {
    const bool pause = std::exchange(conflict_, false);
    if (!error_ && pause) {
      step.pause = NextPause();
    } else {
      if (!error_) ReadUnknown(step);
      if (!error_ && step.reads.empty()) PlanAll(step);
      const bool goes_on =
          !step.reads.empty() || !step.sends.empty() || step.pause > milliseconds(0);
      if (!goes_on) step = Answer(std::move(step));
    }
  }
  step.learned = std::exchange(learned_, {});
  step.unknown = std::exchange(unknown_, {});
  return step;
}

void BucketCall::ReadUnknown(CallStep& step) {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (parts_[i].state != State::kUnknown) continue;
    const BucketKey& key = charges_[i].target->key;
    step.reads.push_back(keys_.Bucket(key));
    step.reads.push_back(keys_.Entity(key.entity));
    parts_[i].state = State::kReading;
    reading_.push_back(i);
  }
}

Result<BucketPlan> BucketCall::PlanOf(std::size_t charge) const {
  const Part& part = parts_[charge];
  const BucketRequest request{charges_[charge], token_};
  if (part.state == State::kAbsent) return PlanCreate(keys_, part.owner, request, now_);
  return PlanWrite(keys_, *part.image, request, now_);
}

void BucketCall::PlanAll(CallStep& step) {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    Part& part = parts_[i];
    if (part.state == State::kDone) continue;
    auto plan = PlanOf(i);
    if (!plan) {
      error_ = std::move(plan.error());
      return;
    }
    part.plan = std::move(*plan);
    refused_ = refused_ || part.plan.retry_after > milliseconds(0);
    if (part.plan.counted) part.state = State::kDone;
  }
  if (refused_) return;
  SendAll(step);
}

milliseconds BucketCall::NextPause() {
  return kFirstPause * (1 << std::min(pauses_++, kMostDoublings));
}

void BucketCall::SendAll(CallStep& step) {
  if (rounds_ >= kRoundsAtOnce && !std::exchange(rested_, true)) {
    step.pause = NextPause();
    return;
  }
  rested_ = false;
  if (++rounds_ > kMostRounds) {
    error_ = Contended(charges_.front().target->key);
    return;
  }
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
                          .repeatable = token_.has_value(),
                          .in_turn = part.plan.exclusive});
  }
}

std::vector<Charge> BucketCall::TakenInVain() const {
  std::vector<Charge> taken;
  if (token_ || (!error_ && !refused_)) return taken;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (parts_[i].state == State::kDone) taken.push_back(Negated(charges_[i]));
  }
  return taken;
}

CallStep BucketCall::GaveBack() {
  in_order_ = true;
  refused_ = false;
  for (Part& part : parts_) part = Part{};
  return Go();
}

CallStep BucketCall::Answer(CallStep step) {
  step.give_back = TakenInVain();
  if (!error_ && !in_order_ && !step.give_back.empty()) return step;
  if (error_) {
    step.answer = Fail(*error_);
  } else {
    step.answer = Told();
  }
  return step;
}

Decision BucketCall::Told() const {
  Decision decision{.admitted = !refused_, .maybe_charged_twice = in_doubt_, .limits = {}};
  for (const Part& part : parts_) {
    decision.retry_after = std::max(decision.retry_after, part.plan.retry_after);
    decision.limits.insert(decision.limits.end(), part.plan.statuses.begin(),
                           part.plan.statuses.end());
  }
  return decision;
}

}  // namespace weir::dynamo
