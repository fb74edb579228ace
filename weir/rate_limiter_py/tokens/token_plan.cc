#include "weir/rate_limiter_py/tokens/token_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weir/rate_limiter_py/tables.h"

namespace weir::rate_limiter_py {
namespace {

using dynamo::Expression;
using dynamo::Of;

// rate-limiter-py's clients read only `tokens`. So at most this part (an eighth) of the limit may
// be earned and not yet stored by a refill.
constexpr std::int64_t kUnseenPart = 8;

// The changes of a bucket between its image and the request.
struct Projection {
  UnixMillis time;          // the time of the request
  Meter before;             // as in the image
  std::int64_t offset = 0;  // to be added to the attribute `tokens`
  Earned earned{};          // since the image
  bool overflows = false;   // the refill reaches the limit
  Meter conformed;          // after the refill, and under the limit of the request
};

Projection CourseOf(const TokenImage& image, const AccountLimit& limit, UnixMillis now) {
  const Quota quota = QuotaOf(limit);
  const UnixMillis time = std::max(now, TimeOf(image));
  Projection course{.time = time,
                    .before = MeterOf(image, quota),
                    .offset = OffsetOf(image, quota),
                    .conformed = {}};
  const std::int64_t elapsed = (time - TimeOf(image)).count();
  course.earned = EarnedIn(course.before, elapsed);
  const Quota& old = course.before.quota;
  course.overflows = course.before.tokens + course.earned.rounded_up > old.capacity;
  course.conformed = course.before;
  Refill(course.conformed, elapsed);
  if (course.overflows) course.conformed = FullMeter(old);
  if (old != quota) ChangeQuota(course.conformed, quota);
  return course;
}

dynamo::Write WriteOf(const TokenRequest& request) {
  dynamo::Write write{.key = TableKeyOf(request.key), .item = {}, .expression = {}};
  write.want_new = true;
  return write;
}

// Sets the attributes of every take.
void SetTake(Expression& e, const TokenRequest& request, UnixMillis time) {
  e.Set(kLastToken, Of(time.value)).Set(kOurTake, Of(request.take));
}

// Sets lastRefill to `time`, and all but the whole tokens of `meter`, the bucket at that time.
void SetRefill(Expression& e, UnixMillis time, const Meter& meter) {
  e.Set(kLastRefill, Of(time.value)).Set(kOurRefill, Of(time.value));
  e.Set(kOurLimit, Of(meter.quota.capacity)).Set(kOurWindow, Of(meter.quota.period));
  e.Set(kOurPart, Of(meter.remainder)).Set(kOurParts, Of(meter.remainder_period));
}

std::optional<dynamo::Value> SeenValue(const std::optional<std::int64_t>& number) {
  return number ? std::optional(Of(*number)) : std::nullopt;
}

void RequireSeen(Expression& e, const TokenImage& image) {
  e.RequireSame(kLastRefill, SeenValue(image.last_refill));
  if (!image.last_refill) e.RequireSame(kLastToken, SeenValue(image.last_token));
  // lastRefill alone does not distinguish two writes in the same millisecond.
  e.RequireSame(kOurRefill, SeenValue(image.refill));
  e.RequireSame(kOurLimit, SeenValue(image.limit));
  e.RequireSame(kOurWindow, SeenValue(image.window));
}

bool MayAdd(const TokenImage& image, const TokenRequest& request, const Projection& course) {
  // An `add` leaves the refill to a later write, so the limit must not change, the refill must not
  // reach the limit, and the tokens must suffice without the refill.
  return KnowsQuota(image) && course.before.quota == QuotaOf(request.limit) && !course.overflows &&
         course.before.tokens >= request.count &&
         course.earned.whole <= course.before.quota.capacity / kUnseenPart;
}

dynamo::Write AddWrite(const TokenImage& image, const TokenRequest& request,
                       const Projection& course) {
  dynamo::Write write = WriteOf(request);
  SetTake(write.expression, request, course.time);
  // The conditions also allow the write after takes of others and after refills under this limit.
  const Quota& quota = course.before.quota;
  write.expression.Add(kTokens, -request.count)
      .Require(kTokens, ">=", request.count)
      .Require(kTokens, "<=", quota.capacity - course.earned.rounded_up)
      .Require(kLastRefill, ">=", *image.last_refill)
      .Require(kOurLimit, "=", quota.capacity)
      .Require(kOurWindow, "=", quota.period);
  return write;
}

// Refills the bucket, sets its limit to that of the request, and takes `count` tokens, possibly 0.
dynamo::Write MoveWrite(const TokenImage& image, const TokenRequest& request,
                        const Projection& course, std::int64_t count) {
  dynamo::Write write = WriteOf(request);
  Expression& e = write.expression;
  if (count > 0) SetTake(e, request, course.time);
  RequireSeen(e, image);
  SetRefill(e, course.time, course.conformed);
  const std::int64_t remaining = course.conformed.tokens - count;
  const std::int64_t full_tokens = course.before.quota.capacity - course.offset;
  if (course.overflows) {
    // For any number of tokens that satisfies this condition, the refill reaches the limit, so the
    // result is the same.
    e.Require(kTokens, ">=", full_tokens - course.earned.whole).Set(kTokens, Of(remaining));
    return write;
  }
  const std::int64_t change = remaining - (course.before.tokens - course.offset);
  // The refill does not reach the limit, so the change does not depend on the number of tokens.
  e.Require(kTokens, "<=", full_tokens - course.earned.rounded_up);
  if (count > 0) e.Require(kTokens, ">=", -change);
  e.Add(kTokens, change);
  return write;
}

}  // namespace

TokenPlan PlanTake(const TokenImage& image, const TokenRequest& request) {
  const Projection course = CourseOf(image, request.limit, request.now);
  const std::int64_t available = course.conformed.tokens;
  const milliseconds wait = RetryAfter(course.conformed, request.count);
  if (wait > milliseconds(0)) {
    TokenPlan refusal{
        .result = {.available = available, .retry_after = wait + (course.time - request.now)}};
    if (course.before.quota != QuotaOf(request.limit)) {
      refusal.write = MoveWrite(image, request, course, 0);
    }
    return refusal;
  }
  return {.result = {.taken = true, .available = available - request.count},
          .write = MayAdd(image, request, course)
                       ? AddWrite(image, request, course)
                       : MoveWrite(image, request, course, request.count)};
}

TokenPlan PlanBlind(const TokenRequest& request) {
  const Quota quota = QuotaOf(request.limit);
  const std::int64_t remaining = quota.capacity - request.count;
  dynamo::Write write = WriteOf(request);
  Expression& e = write.expression;
  SetTake(e, request, request.now);
  e.Require(fmt::format(
      "(attribute_not_exists({0}) OR ({0} >= {1} AND {2} <= {3} AND "
      "(attribute_not_exists({4}) OR {4} <= {5})))",
      e.Name(kTokens), e.Of(Of(0)), e.Name(kLastRefill), e.Of(Of(request.now.value - quota.period)),
      e.Name(kOurWindow), e.Of(Of(quota.period))));
  SetRefill(e, request.now, FullMeter(quota));
  e.Set(kTokens, Of(remaining));
  return {.result = {.taken = true, .available = remaining}, .write = std::move(write)};
}

std::int64_t AvailableAt(const TokenImage& image, const AccountLimit& limit, UnixMillis now) {
  return CourseOf(image, limit, now).conformed.tokens;
}

}  // namespace weir::rate_limiter_py
