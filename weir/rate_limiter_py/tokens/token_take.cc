#include "weir/rate_limiter_py/tokens/token_take.h"

#include <fmt/format.h>

#include <utility>

namespace weir::rate_limiter_py {
namespace {

constexpr int kMaxTakes = 20;
constexpr milliseconds kRest{100};

TakeStep EndWith(Error error) { return {.result = Result<TokenResult>(Fail(std::move(error)))}; }

}  // namespace

TakeStep TokenTake::Begin(const std::optional<TokenImage>& remembered) {
  return FollowPlan(remembered ? PlanTake(*remembered, request_) : PlanBlind(request_));
}

TakeStep TokenTake::FollowPlan(TokenPlan plan) {
  planned_ = plan.result;
  if (!plan.write) return {.result = planned_};
  return {.write = std::move(plan.write)};
}

TakeStep TokenTake::OnWrite(tl::expected<dynamo::WriteResponse, dynamo::WriteFailure> outcome) {
  if (outcome) return OnApplied(*outcome);
  dynamo::WriteFailure& failure = outcome.error();
  if (failure.kind == FailureClass::kConditional) return OnLost(failure.old_item);
  // A refusal does not depend on whether its write of the limit was applied.
  if (!planned_.taken) return {.result = planned_};
  // Read the item: if it has this take's id, the write was applied.
  if (failure.maybe_applied || failure.kind == FailureClass::kAmbiguous) {
    doubt_ = std::move(failure.error);
    return {.read = true};
  }
  return EndWith(std::move(failure.error));
}

TakeStep TokenTake::OnApplied(const dynamo::WriteResponse& response) {
  auto image = response.item ? ReadImage(request_.key, *response.item) : std::nullopt;
  if (!image || !*image) return {.result = planned_, .forget = true};
  planned_.available = AvailableAt(**image, request_.limit, request_.now);
  return {.result = planned_, .learned = std::move(*image)};
}

TakeStep TokenTake::OnLost(const std::optional<dynamo::Item>& item) {
  if (++rounds_ >= kMaxTakes) {
    return EndWith({Code::kAborted,
                    fmt::format("tokens of {}: {} writes lost against others; try again",
                                Describe(request_.key), kMaxTakes),
                    kRest});
  }
  auto image = item ? ReadImage(request_.key, *item) : std::nullopt;
  if (!image) return EndWith(std::move(image.error()));
  TakeStep step = Begin(*image);
  // The item was read by the write that failed, so it is the newest.
  step.is_newest = image->has_value();
  step.forget = !step.is_newest;
  step.learned = *std::move(image);
  return step;
}

TakeStep TokenTake::OnRead(Result<std::optional<dynamo::Item>> item) {
  if (!item || !*item) return InDoubt();
  auto image = ReadImage(request_.key, **item);
  if (!image || !*image || (*image)->take != request_.take) return InDoubt();
  return OnApplied({.item = std::move(*item)});
}

TakeStep TokenTake::InDoubt() const {
  const bool late = doubt_.code == Code::kDeadlineExceeded;
  return EndWith({late ? Code::kDeadlineExceeded : Code::kUnavailable,
                  fmt::format("tokens of {}: {}: {} may have been taken", Describe(request_.key),
                              doubt_.message, request_.count)});
}

}  // namespace weir::rate_limiter_py
