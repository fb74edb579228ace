// The item of an account's bucket in the table of tokens, as it was last read.
//
// Format: rate-limiter-py 0.3.0: `tokens` (whole ones) as of `lastRefill`; `lastToken`, the time of
// the last take. The following attributes are ours; rate-limiter-py's clients ignore them:
//
//   w_refill            the lastRefill to which the next four belong
//   w_limit, w_window   limit and window (ms) of the bucket at that time
//   w_part, w_parts     the part of a token, in addition to `tokens`, earned then: part / parts
//   w_take              the id of our last take: 32 random hex digits
//
// If lastRefill differs from w_refill, these four are invalid: a client of rate-limiter-py has
// refilled the bucket, and discarded the part of a token. A client that only takes from `tokens`
// leaves them valid.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/bucket/bucket.h"
#include "weir/dynamodb/value.h"
#include "weir/store/reservation/account_limits.h"

namespace weir::rate_limiter_py {

inline constexpr std::string_view kOurRefill = "w_refill";
inline constexpr std::string_view kOurLimit = "w_limit";
inline constexpr std::string_view kOurWindow = "w_window";
inline constexpr std::string_view kOurPart = "w_part";
inline constexpr std::string_view kOurParts = "w_parts";
inline constexpr std::string_view kOurTake = "w_take";

/// The attributes of an item.
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

/// Parses an item. Returns nothing if there are no `tokens`: such a bucket is full. Returns
/// kFailedPrecondition, with the bucket and the attribute, for numbers that neither
/// rate-limiter-py's clients nor ours write.
[[nodiscard]] Result<std::optional<TokenImage>> ReadImage(const AccountKey& key,
                                                          const dynamo::Item& item);

/// Returns the quota of a bucket that counts whole tokens; Meter::remainder is the part of a token.
Quota QuotaOf(const AccountLimit& limit);

/// Returns whether the image has the limit under which it was written.
bool KnowsQuota(const TokenImage& image);

/// Returns the time up to which the bucket is refilled. Without a lastRefill this is the time of
/// the last take; without either it is 1970, as rate-limiter-py's clients assume.
UnixMillis TimeOf(const TokenImage& image);

/// Returns the number to add to the attribute `tokens` to get the bucket's tokens. Without a
/// lastRefill, `tokens` were counted down from 0, although a full bucket has `quota.capacity`.
std::int64_t OffsetOf(const TokenImage& image, const Quota& quota);

/// Returns the balance as of TimeOf(image), under the limit of the image, or under `quota` if the
/// image has none.
Meter MeterOf(const TokenImage& image, const Quota& quota);

}  // namespace weir::rate_limiter_py
