#include "weir/zae_table/config/config_fields.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir::dynamo {
namespace {

// zae-limiter refuses larger numbers.
constexpr std::int64_t kMaxTokens = 1'000'000'000'000'000;
constexpr std::int64_t kMaxSeconds = 1'000'000'000;
constexpr std::int64_t kMillisPerSecond = 1000;

std::int64_t CeilDivide(std::int64_t number, std::int64_t by) { return (number + by - 1) / by; }

}  // namespace

StoredQuota ToStored(const Quota& quota) {
  // zae-limiter refuses to read a capacity of 0.
  if (quota.amount == 0) {
    return {.capacity = 1, .amount = 1, .seconds = kMaxPeriodMillis / kMillisPerSecond};
  }
  StoredQuota stored{
      .capacity = std::clamp(quota.capacity / kMillitokens, std::int64_t{1}, kMaxTokens),
      .amount = 0,
      .seconds = CeilDivide(quota.period, kMillisPerSecond)};
  // amount * seconds / period, without the product, which may overflow. (A millitoken in 1 ms is a
  // token in 1 s.)
  stored.amount = quota.amount / quota.period * stored.seconds +
                  quota.amount % quota.period * stored.seconds / quota.period;
  stored.amount = std::min(stored.amount, kMaxTokens);
  if (stored.amount > 0) return stored;
  stored.amount = 1;
  stored.seconds = std::min(CeilDivide(quota.period, quota.amount), kMaxSeconds);
  return stored;
}

Quota FromStored(const StoredQuota& stored) {
  return {.capacity = stored.capacity * kMillitokens,
          .amount = stored.amount * kMillitokens,
          .period = stored.seconds * kMillisPerSecond};
}

bool IsWithinBounds(const StoredQuota& stored) {
  return stored.capacity <= kMaxMillitokens / kMillitokens &&
         stored.amount <= kMaxMillitokens / kMillitokens &&
         stored.seconds <= kMaxPeriodMillis / kMillisPerSecond;
}

std::string LimitField(std::string_view limit, std::string_view field) {
  return fmt::format("l_{}_{}", limit, field);
}

std::optional<FieldName> ParseField(std::string_view attribute) {
  if (!attribute.starts_with("l_")) return std::nullopt;
  attribute.remove_prefix(2);
  const std::size_t last = attribute.rfind('_');
  if (last == attribute.npos || last == 0 || last + 1 == attribute.size()) return std::nullopt;
  return FieldName{attribute.substr(0, last), attribute.substr(last + 1)};
}

bool IsContent(const Level& level, std::string_view attribute) {
  if (attribute == kOnUnavailable) return level.kind == Level::Kind::kSystem;
  return attribute.starts_with("wx_") || ParseField(attribute).has_value();
}

bool NamesEntity(const Level& level) {
  return level.kind == Level::Kind::kEntityDefault || level.kind == Level::Kind::kEntity;
}

std::string Hex(std::uint64_t bits) { return fmt::format("{:016x}", bits); }

}  // namespace weir::dynamo
