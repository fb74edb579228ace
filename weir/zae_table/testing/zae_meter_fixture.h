// The arithmetic of zae-limiter 0.17.0 on a bucket's item, for limits that drip.
//
// Source: zae-limiter 0.17.0, the wheel: rf moves to now, and a fraction of a token is lost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/dynamodb/value.h"
#include "weir/store/bucket/charge.h"

namespace weir::dynamo {

/// One limit as an item stores it. Amounts in millitokens, not divided; period in ms.
struct ZaeMeter {
  std::int64_t tokens = 0;
  std::int64_t consumed = 0;
  std::int64_t capacity = 0;
  std::int64_t amount = 0;
  std::int64_t period = 1;
};
/// Returns nothing unless the item has tokens and a capacity of the limit.
std::optional<ZaeMeter> ReadZaeMeter(const Item& item, std::string_view limit);
/// Returns the names of the limits of an item that have both, including `wcu`.
std::vector<std::string> ZaeLimits(const Item& item);
std::int64_t ZaeShards(const Item& item);
/// zae-limiter creates no more shards.
inline constexpr std::int64_t kMaxZaeShards = 32;
/// Returns the gain of one of `shards` shards in `elapsed` ms; negative if it holds more than its
/// capacity. A fraction of a millitoken is lost.
std::int64_t ZaeRefill(const ZaeMeter& meter, std::int64_t shards, std::int64_t elapsed);

/// The same from the item's own time until `now`.
std::int64_t ZaeRefillUntil(const Item& item, const ZaeMeter& meter, UnixMillis now);

/// The client's next step after its write on stored balances failed on an item.
enum class ZaeVerdict {
  kRefused,  ///< no refill until now would pay
  kSlow,     ///< a pass that refills may pay
  kBusy,     ///< as kSlow, and the item is written more often than it bears
};
ZaeVerdict JudgeZae(const std::optional<Item>& item, const Charge& charge, UnixMillis now);

}  // namespace weir::dynamo
