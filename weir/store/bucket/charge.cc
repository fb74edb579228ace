#include "weir/store/bucket/charge.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir {
namespace {

std::string Where(const Charge& charge, std::size_t limit) {
  const Target& target = *charge.target;
  return fmt::format("{}/{}: limit {}", target.key.entity, target.key.resource,
                     target.limits[limit].name);
}

Status CheckTakes(const Charge& charge) {
  for (std::size_t i = 0; i < charge.amounts.size(); ++i) {
    const std::int64_t amount = charge.amounts[i];
    const std::int64_t capacity = charge.target->limits[i].quota.capacity;
    if (amount < 0) {
      return Fail(Code::kInvalidArgument,
                  fmt::format("{} is asked for {} tokens; an amount must not be negative",
                              Where(charge, i), FormatTokens(amount)));
    }
    if (amount > capacity) {
      return Fail(
          Code::kInvalidArgument,
          fmt::format("{} is asked for {} tokens, which is never possible; its capacity is {}",
                      Where(charge, i), FormatTokens(amount), FormatTokens(capacity)));
    }
  }
  return {};
}

Status CheckDeltas(const Charge& charge) {
  for (std::size_t i = 0; i < charge.amounts.size(); ++i) {
    const std::int64_t amount = charge.amounts[i];
    if (amount < -kMaxMillitokens || amount > kMaxMillitokens) {
      return Fail(
          Code::kInvalidArgument,
          fmt::format("{} is adjusted by {} tokens; at most {} either way", Where(charge, i),
                      FormatTokens(amount), FormatTokens(kMaxMillitokens)));
    }
  }
  return {};
}

Status CheckTexts(const Target& target) {
  WEIR_RETURN_IF_ERROR(CheckBucketText("entity of a bucket", target.key.entity));
  WEIR_RETURN_IF_ERROR(CheckBucketText("resource of a bucket", target.key.resource));
  for (const Limit& limit : target.limits) {
    WEIR_RETURN_IF_ERROR(CheckBucketText("limit of a bucket", limit.name));
  }
  return {};
}

Status CheckShape(std::span<const Charge> charges) {
  if (charges.empty() || charges.size() > kMaxCharges) {
    return Fail(Code::kInvalidArgument, fmt::format("a request has {} charges; allowed are 1 to {}",
                                                    charges.size(), kMaxCharges));
  }
  for (std::size_t i = 0; i < charges.size(); ++i) {
    const Target& target = *charges[i].target;
    if (!target.is_storable) return CheckTexts(target);
    if (charges[i].amounts.size() != target.limits.size() || target.limits.empty()) {
      return Fail(
          Code::kInvalidArgument,
          fmt::format("{}/{}: {} amounts for {} limits; one for each is needed", target.key.entity,
                      target.key.resource, charges[i].amounts.size(), target.limits.size()));
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (!SameBucket(target, *charges[j].target)) continue;
      return Fail(Code::kInvalidArgument,
                  fmt::format("{}/{} is charged twice in one request; add the amounts up",
                              target.key.entity, target.key.resource));
    }
  }
  return {};
}

}  // namespace

TargetPtr MakeTarget(BucketKey key, std::vector<Limit> limits, LimitSource source) {
  const std::size_t hash = HashOf(key);
  std::vector<std::string> blocked;
  for (const Limit& limit : limits) {
    if (Blocks(limit)) blocked.push_back(limit.name);
  }
  std::erase_if(limits, Blocks);
  Target target{.key = std::move(key),
                .limits = std::move(limits),
                .blocked = std::move(blocked),
                .hash = hash,
                .source = source};
  target.is_storable = CheckTexts(target).has_value();
  return std::make_shared<const Target>(std::move(target));
}

bool IsBlocked(const Target& target, std::string_view limit) {
  return std::ranges::find(target.blocked, limit) != target.blocked.end();
}

Status CheckAcquire(std::span<const Charge> charges) {
  WEIR_RETURN_IF_ERROR(CheckShape(charges));
  for (const Charge& charge : charges) WEIR_RETURN_IF_ERROR(CheckTakes(charge));
  return {};
}

Status CheckAdjust(std::span<const Charge> charges) {
  WEIR_RETURN_IF_ERROR(CheckShape(charges));
  for (const Charge& charge : charges) WEIR_RETURN_IF_ERROR(CheckDeltas(charge));
  return {};
}

}  // namespace weir
