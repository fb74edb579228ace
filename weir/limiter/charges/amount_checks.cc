#include "weir/limiter/charges/amount_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace weir {

std::optional<std::size_t> IndexOf(const Target& target, std::string_view name) {
  for (std::size_t i = 0; i < target.limits.size(); ++i) {
    if (target.limits[i].name == name) return i;
  }
  return std::nullopt;
}

std::string NameOf(const Target& target) {
  return fmt::format("{}/{}", target.key.entity, target.key.resource);
}

Error UnknownLimit(const Target& target, std::string_view name) {
  std::vector<std::string_view> known(target.blocked.begin(), target.blocked.end());
  for (const Limit& limit : target.limits) known.push_back(limit.name);
  return {Code::kInvalidArgument, fmt::format("{}: no limit is called '{}'; known are {}",
                                              NameOf(target), name, fmt::join(known, ", "))};
}

Status CheckNamedOnce(const Amounts& amounts) {
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (amounts[i].limit != amounts[j].limit) continue;
      return Fail(Code::kInvalidArgument,
                  fmt::format("limit {} is named twice; add the amounts up", amounts[i].limit));
    }
  }
  return {};
}

Status CheckSize(const Target& target, std::size_t index, std::int64_t delta) {
  if (delta >= -kMaxMillitokens && delta <= kMaxMillitokens) return {};
  return Fail(
      Code::kInvalidArgument,
      fmt::format("{}: limit {} is adjusted by {} tokens; at most {} either way", NameOf(target),
                  target.limits[index].name, FormatTokens(delta), FormatTokens(kMaxMillitokens)));
}

Charge EmptyCharge(const TargetPtr& target) {
  return {.target = target, .amounts = std::vector<std::int64_t>(target->limits.size(), 0)};
}

bool ChangesNothing(const Charge& charge) {
  return std::ranges::all_of(charge.amounts, [](std::int64_t amount) { return amount == 0; });
}

std::int64_t SaturatingAdd(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return b < 0 ? INT64_MIN : INT64_MAX;
  return sum;
}

}  // namespace weir
