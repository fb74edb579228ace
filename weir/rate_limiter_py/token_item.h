// An account's bucket in the table of tokens, as it was last seen.
//
// Format: rate-limiter-py 0.3.0: `tokens` (whole ones), as of `lastRefill`; `lastToken`, when the
// last one was taken. Ours beside these, which its clients pass over:
//
//   w_refill            the lastRefill that the next four belong to
//   w_limit, w_window   limit and window (ms) of the bucket then
//   w_part, w_parts     the part of a token beyond `tokens` that was earned then: part / parts
//   w_take              the last take of ours: 32 hex digits, drawn for it
//
// Beside another lastRefill the four mean nothing: one of its clients has refilled, which lets
// parts of tokens go. Whoever only takes from `tokens` leaves them true.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/bucket/bucket.h"
#include "weir/dynamo/value.h"
#include "weir/store/account_limits.h"

namespace weir::rate_limiter_py {

inline constexpr std::string_view kOurRefill = "w_refill";
inline constexpr std::string_view kOurLimit = "w_limit";
inline constexpr std::string_view kOurWindow = "w_window";
inline constexpr std::string_view kOurPart = "w_part";
inline constexpr std::string_view kOurParts = "w_parts";
inline constexpr std::string_view kOurTake = "w_take";

/// The attributes, as they stand there. A value.
struct TokenImage {
  std::int64_t tokens = 0;
  std::optional<std::int64_t> last_refill{};
  std::optional<std::int64_t> last_token{};
  std::optional<std::int64_t> refill{};
  std::optional<std::int64_t> limit{};
  std::optional<std::int64_t> window{};
  std::int64_t part = 0;
  std::int64_t parts = 1;
  std::string take{};

  friend bool operator==(const TokenImage&, const TokenImage&) = default;
};

/// Nothing where there are no `tokens`: such a bucket is full. kFailedPrecondition, naming the
/// bucket and the attribute, for numbers that its clients and ours do not write.
[[nodiscard]] Result<std::optional<TokenImage>> ReadImage(const AccountKey& key,
                                                          const dynamo::Item& item);

/// A bucket whose tokens are counted in whole ones: Meter::remainder is the part beyond.
Quota QuotaOf(const AccountLimit& limit);

/// Whether the image says under which limit it stands.
bool KnowsQuota(const TokenImage& image);

/// Up to when it is refilled. Without a lastRefill: when the last token was taken. Without either,
/// 1970, as its clients read it.
UnixMillis TimeOf(const TokenImage& image);

/// What it has to be `tokens` of a bucket: without a lastRefill they were counted down from 0, and
/// a full bucket has `quota.capacity`.
std::int64_t OffsetOf(const TokenImage& image, const Quota& quota);

/// The balance as of TimeOf(image), under the limit that it stands under; under `quota` where it
/// does not say.
Meter MeterOf(const TokenImage& image, const Quota& quota);

}  // namespace weir::rate_limiter_py
