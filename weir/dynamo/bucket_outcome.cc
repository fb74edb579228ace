// What becomes of a call's writes, and what the call answers.
#include <algorithm>
#include <utility>

#include "weir/dynamo/bucket_call.h"

namespace weir::dynamo {
namespace {

Charge Negated(const Charge& charge) {
  Charge opposite = charge;
  for (std::int64_t& amount : opposite.amounts) amount = -amount;
  return opposite;
}

}  // namespace

CallStep BucketCall::OnWrite(std::size_t charge, tl::expected<WriteAnswer, WriteFailure> outcome) {
  Note(parts_[charge], outcome);
  if (std::exchange(parts_[charge].repairs, false)) {
    Repaired(charge, std::move(outcome));
  } else if (outcome) {
    Applied(charge, *outcome);
  } else {
    NotApplied(charge, std::move(outcome.error()));
  }
  return Go();
}

// What the write means for the load of the item.
void BucketCall::Note(Part& part, const tl::expected<WriteAnswer, WriteFailure>& outcome) {
  const bool throttled =
      outcome ? outcome->key_range_throttled : outcome.error().key_range_throttled;
  if (throttled && part.image) throttled_.push_back(*part.image);
  if (outcome) {
    part.failed_writes = 0;
  } else if (outcome.error().kind == FailureClass::kConditional) {
    ++part.failed_writes;
  }
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
  part.remembered = false;
}

void BucketCall::Applied(std::size_t charge, const WriteAnswer& answer) {
  Part& part = parts_[charge];
  part.state = State::kDone;
  // A feature that somebody switched on in the meantime is the next call's to see.
  const std::optional<Item>& item = answer.item ? answer.item : part.created;
  auto image = item ? ReadImage(*item) : Fail(Code::kNotFound, "");
  if (image) {
    image->source = part.from_memory ? BucketImage::Source::kForeseen : BucketImage::Source::kOwn;
    learned_.push_back(std::move(*image));
  } else {
    unknown_.push_back(charges_[charge].target->key);
  }
}

void BucketCall::NotApplied(std::size_t charge, WriteFailure failure) {
  Part& part = parts_[charge];
  part.state = State::kUnknown;
  lost_ = true;
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

// The charge is planned again in either case. A repair that fails is not sent again: the request is
// then answered from the known image.
void BucketCall::Repaired(std::size_t charge, tl::expected<WriteAnswer, WriteFailure> outcome) {
  Part& part = parts_[charge];
  part.state = State::kKnown;
  const std::optional<Item>& item = outcome ? outcome->item : outcome.error().old_item;
  if (item) return Learn(part, *item);
  if (outcome || outcome.error().kind == FailureClass::kConditional) {
    part.state = State::kUnknown;  // gone, or unreadable
  } else {
    repairs_left_[charge] = 0;
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

std::vector<Charge> BucketCall::TakenInVain() const {
  std::vector<Charge> taken;
  if (terms_.token || (!error_ && !refused_)) return taken;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const bool wrote = parts_[i].state == State::kDone && !parts_[i].plan.settled;
    if (wrote) taken.push_back(Negated(charges_[i]));
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
  step.in_doubt = in_doubt_;
  step.give_back = TakenInVain();
  if (!error_ && !in_order_ && !step.give_back.empty()) return step;
  if (error_) {
    step.answer = Fail(*error_);
    step.incomplete = std::move(incomplete_);
  } else {
    step.answer = Told();
  }
  return step;
}

Decision BucketCall::Told() const {
  Decision decision{.admitted = !refused_, .limits = {}, .contended = contended_};
  if (contended_) decision.retry_after = kContendedWait;
  for (const Part& part : parts_) {
    decision.retry_after = std::max(decision.retry_after, part.plan.retry_after);
    decision.limits.insert(decision.limits.end(), part.plan.statuses.begin(),
                           part.plan.statuses.end());
  }
  // A part that was never planned says nothing of its limits; the others alone would be misread.
  const bool is_whole =
      std::ranges::none_of(parts_, [](const Part& part) { return part.plan.statuses.empty(); });
  if (!is_whole) decision.limits.clear();
  return decision;
}

}  // namespace weir::dynamo
