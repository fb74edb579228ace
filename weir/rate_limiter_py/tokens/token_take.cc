#include "weir/rate_limiter_py/tokens/token_take.h"

#include <fmt/format.h>

#include <utility>

namespace weir::rate_limiter_py {
namespace {

constexpr int kMostTakes = 20;
constexpr milliseconds kRest{100};

TakeStep End(Error error) { return {.answer = Result<TokenAnswer>(Fail(std::move(error)))}; }

}  // namespace

TakeStep TokenTake::Begin(const std::optional<TokenImage>& remembered) {
  return Follow(remembered ? PlanTake(*remembered, request_) : PlanBlind(request_));
}

TakeStep TokenTake::Follow(TokenPlan plan) {
  planned_ = plan.answer;
  if (!plan.write) return {.answer = planned_};
  return {.write = std::move(plan.write)};
}

TakeStep TokenTake::OnWrite(tl::expected<dynamo::WriteAnswer, dynamo::WriteFailure> outcome) {
  if (outcome) return Applied(*outcome);
  dynamo::WriteFailure& failure = outcome.error();
  if (failure.kind == FailureClass::kConditional) return Lost(failure.old_item);
  // A refusal does not depend on whether its write of the limit was applied.
  if (!planned_.taken) return {.answer = planned_};
  // Read the item: if it has this take's id, the write was applied.
  if (failure.maybe_applied || failure.kind == FailureClass::kAmbiguous) {
    doubt_ = std::move(failure.error);
    return {.read = true};
  }
  return End(std::move(failure.error));
}

TakeStep TokenTake::Applied(const dynamo::WriteAnswer& answer) {
  auto image = answer.item ? ReadImage(request_.key, *answer.item) : std::nullopt;
  if (!image || !*image) return {.answer = planned_, .forget = true};
  planned_.available = AvailableAt(**image, request_.limit, request_.now);
  return {.answer = planned_, .learned = std::move(*image)};
}

TakeStep TokenTake::Lost(const std::optional<dynamo::Item>& item) {
  if (++rounds_ >= kMostTakes) {
    return End({Code::kAborted,
                fmt::format("tokens of {}: {} writes lost against others; try again",
                            Describe(request_.key), kMostTakes),
                kRest});
  }
  auto image = item ? ReadImage(request_.key, *item) : std::nullopt;
  if (!image) return End(std::move(image.error()));
  TakeStep step = Begin(*image);
  // The item was read by the write that failed, so it is the newest.
  step.surely = image->has_value();
  step.forget = !step.surely;
  step.learned = *std::move(image);
  return step;
}

TakeStep TokenTake::OnRead(Result<std::optional<dynamo::Item>> item) {
  if (!item || !*item) return InDoubt();
  auto image = ReadImage(request_.key, **item);
  if (!image || !*image || (*image)->take != request_.take) return InDoubt();
  return Applied({.item = std::move(*item)});
}

TakeStep TokenTake::InDoubt() const {
  const bool late = doubt_.code == Code::kDeadlineExceeded;
  return End({late ? Code::kDeadlineExceeded : Code::kUnavailable,
              fmt::format("tokens of {}: {}: {} may have been taken", Describe(request_.key),
                          doubt_.message, request_.count)});
}

}  // namespace weir::rate_limiter_py
