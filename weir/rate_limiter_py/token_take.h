// One take from an account's bucket: a protocol without I/O.
#pragma once

#include <optional>
#include <tl/expected.hpp>

#include "weir/dynamo/table.h"
#include "weir/rate_limiter_py/token_plan.h"

namespace weir::rate_limiter_py {

/// What the driver is to do next: one of `write`, `read` and `answer`.
struct TakeStep {
  std::optional<dynamo::Write> write{};  ///< not repeatable; its outcome for OnWrite
  bool read = false;                     ///< the item, for OnRead
  std::optional<Result<TokenAnswer>> answer{};
  /// The newest image, worth remembering; `surely` even where an older one looks newer.
  std::optional<TokenImage> learned{};
  bool surely = false;
  bool forget = false;  ///< what is remembered is no longer so
};

/// Events in, steps out. A refusal from a remembered image is exact without a request: until refill
/// could pay, others can only have taken more. Where the limit has changed it is written down once,
/// so that the bucket refills under the new one from then on. (If somebody else changed it to and
/// fro meanwhile, this process may refuse what refilled under the other one.)
///
/// A write that fails on its condition brings the image from which the next is planned; kAborted
/// after twenty in a row. A write whose answer was lost is never repeated: the item is read, and
/// where it bears this take it was applied; where it does not, a later take may have covered it, or
/// it may yet arrive, so that the answer is kUnavailable or kDeadlineExceeded.
class TokenTake {
 public:
  /// REQUIRES: CheckTake of it.
  explicit TokenTake(TokenRequest request) : request_(std::move(request)) {}

  TakeStep Begin(const std::optional<TokenImage>& remembered);
  TakeStep OnWrite(tl::expected<dynamo::WriteAnswer, dynamo::WriteFailure> outcome);
  TakeStep OnRead(Result<std::optional<dynamo::Item>> item);
  const TokenRequest& request() const { return request_; }

 private:
  TakeStep Follow(TokenPlan plan);
  TakeStep Applied(const dynamo::WriteAnswer& answer);
  TakeStep Lost(const std::optional<dynamo::Item>& item);
  TakeStep InDoubt() const;

  TokenRequest request_;
  TokenAnswer planned_;  // if the write is applied
  Error doubt_;
  int rounds_ = 0;  // that were lost
};

}  // namespace weir::rate_limiter_py
