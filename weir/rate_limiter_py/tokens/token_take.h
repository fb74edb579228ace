// One take from an account's bucket: a protocol without I/O.
//
//   Begin --> write --OnWrite--> OnApplied
//     |         |  |
//     |         |  +--(outcome unknown)--> read --OnRead--> OnApplied, or an error
//     |         +--(the condition failed)--> OnLost --> Begin, with the image that was returned
//     +--(refused by the image)--> result
#pragma once

#include <optional>
#include <tl/expected.hpp>

#include "weir/dynamodb/table.h"
#include "weir/rate_limiter_py/tokens/token_plan.h"

namespace weir::rate_limiter_py {

/// The next step of the driver: one of `write`, `read` and `result`.
struct TakeStep {
  std::optional<dynamo::Write> write{};  ///< must not be repeated; OnWrite gets its outcome
  bool read = false;                     ///< read the item; OnRead gets it
  std::optional<Result<TokenResult>> result{};
  /// An image to be cached; if `is_newest`, even if the cached image looks newer.
  std::optional<TokenImage> learned{};
  bool is_newest = false;
  bool forget = false;  ///< remove the cached image
};

/// A refusal by a cached image is exact without a request: until a refill could pay for the take,
/// others can only have taken more. If the limit has changed, the refusal writes it once, so that
/// the bucket refills under the new limit from then on. (If another process changes the limit and
/// changes it back, this process may refuse tokens that were refilled under the other limit.)
///
/// A write whose condition fails returns the image from which the next write is planned; the take
/// ends with kAborted after twenty such writes. A write whose response was lost is never repeated:
/// the item is read. If its w_take is that of this take, the write was applied. Otherwise a later
/// take may have replaced w_take, or the write may still arrive, so the result is kUnavailable or
/// kDeadlineExceeded.
class TokenTake {
 public:
  /// REQUIRES: CheckTake of the request.
  explicit TokenTake(TokenRequest request) : request_(std::move(request)) {}

  TakeStep Begin(const std::optional<TokenImage>& remembered);
  TakeStep OnWrite(tl::expected<dynamo::WriteResponse, dynamo::WriteFailure> outcome);
  TakeStep OnRead(Result<std::optional<dynamo::Item>> item);
  const TokenRequest& request() const { return request_; }

 private:
  /// Continues with a plan: its write, or its result if it has none.
  TakeStep FollowPlan(TokenPlan plan);
  TakeStep OnApplied(const dynamo::WriteResponse& response);
  /// Plans again after the condition of a write has failed.
  TakeStep OnLost(const std::optional<dynamo::Item>& item);
  /// Ends a take whose write may have been applied.
  TakeStep InDoubt() const;

  TokenRequest request_;
  TokenResult planned_;  // the result if the write is applied
  Error doubt_;
  int rounds_ = 0;  // writes that failed on their condition
};

}  // namespace weir::rate_limiter_py
