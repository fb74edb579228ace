#include "weir/zae_table/testing/zae_meter_fixture.h"

#include <algorithm>

#include "weir/zae_table/bucket/bucket_image.h"

namespace weir::dynamo {
namespace {

constexpr std::int64_t kUnitOfWrites = 1'000;

}  // namespace

std::optional<ZaeMeter> ReadZaeMeter(const Item& item, std::string_view limit) {
  const auto field = [&](const char* of) { return GetNumber(item, LimitAttribute(limit, of)); };
  if (!field("tk") || !field("cp")) return std::nullopt;
  return ZaeMeter{*field("tk"), field("tc").value_or(0), *field("cp"), field("ra").value_or(0),
                  std::max<std::int64_t>(field("rp").value_or(1), 1)};
}

std::vector<std::string> ZaeLimits(const Item& item) {
  std::vector<std::string> limits;
  for (const auto& [name, value] : item) {
    if (!name.starts_with("b_") || !name.ends_with("_tk")) continue;
    std::string limit = name.substr(2, name.size() - 5);
    if (ReadZaeMeter(item, limit)) limits.push_back(std::move(limit));
  }
  return limits;
}

std::int64_t ZaeShards(const Item& item) {
  return std::max<std::int64_t>(GetNumber(item, "shard_count").value_or(1), 1);
}

std::int64_t ZaeRefill(const ZaeMeter& meter, std::int64_t shards, std::int64_t elapsed) {
  const std::int64_t gain =
      std::max<std::int64_t>(elapsed, 0) * (meter.amount / shards) / meter.period;
  return std::min(meter.capacity / shards, meter.tokens + gain) - meter.tokens;
}

std::int64_t ZaeRefillUntil(const Item& item, const ZaeMeter& meter, UnixMillis now) {
  return ZaeRefill(meter, ZaeShards(item), now.value - GetNumber(item, "rf").value_or(0));
}

ZaeVerdict JudgeZae(const std::optional<Item>& item, const Charge& charge, UnixMillis now) {
  if (!item) return ZaeVerdict::kSlow;
  const auto ttl = GetNumber(*item, "ttl");
  const auto valid_until = GetNumber(*item, "vu");
  if (ttl && *ttl <= now.value / 1000) return ZaeVerdict::kSlow;
  if (valid_until && *valid_until <= now.value) return ZaeVerdict::kSlow;
  const auto writes = ReadZaeMeter(*item, kWriteLimit);
  if (writes && writes->tokens + ZaeRefillUntil(*item, *writes, now) < kUnitOfWrites) {
    return ZaeVerdict::kBusy;
  }
  for (std::size_t i = 0; i < charge.amounts.size(); ++i) {
    const auto meter = ReadZaeMeter(*item, charge.target->limits[i].name);
    if (charge.amounts[i] == 0 || !meter) continue;
    if (meter->tokens + ZaeRefillUntil(*item, *meter, now) < charge.amounts[i]) {
      return ZaeVerdict::kRefused;
    }
  }
  return ZaeVerdict::kSlow;
}

}  // namespace weir::dynamo
