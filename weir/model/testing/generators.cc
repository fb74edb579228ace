#include "weir/model/testing/generators.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

namespace weir {
namespace {

// Valid names that some YAML parsers take for null, booleans, numbers, times or dates.
constexpr std::array kEntities = {
    "acme", "null",       "NULL", "123",      "1e3",  "12:30:45", "true",
    "on",   "2001-01-01", "a:b:", "user@org", "0x1f", "1.5",      "x.-_"};
constexpr std::array kResources = {"llm", "Null", "yes", "gpt-4/turbo", "y", "e1.0"};
constexpr std::array kLimitNames = {"rpm", "tpm", "null", "No", "x-1.y_", "false"};
constexpr std::array kNamespaces = {"production", "007", "off", "1.0"};

/// Between `least` and `most` of the names, each at most once, in any order.
rc::Gen<std::vector<std::string>> Some(std::span<const char* const> of, int least, int most) {
  const std::vector<std::string> names(of.begin(), of.end());
  return rc::gen::exec([names, least, most] {
    const int count = *rc::gen::inRange(least, most + 1);
    return *rc::gen::unique<std::vector<std::string>>(static_cast<std::size_t>(count),
                                                      rc::gen::elementOf(names));
  });
}

rc::Gen<std::int64_t> AnyMillitokens() {
  return rc::gen::oneOf(rc::gen::inRange<std::int64_t>(1, 5000),
                        rc::gen::map(rc::gen::inRange<std::int64_t>(1, 20'000),
                                     [](std::int64_t tokens) { return tokens * kMillitokens; }),
                        rc::gen::inRange<std::int64_t>(1, kMaxMillitokens + 1),
                        rc::gen::just(kMaxMillitokens));
}

rc::Gen<std::int64_t> AnyPeriod() {
  return rc::gen::exec([]() -> std::int64_t {
    constexpr std::array<std::int64_t, 5> kUnits = {1, 1000, 60'000, 3'600'000, 86'400'000};
    const std::int64_t unit = *rc::gen::elementOf(kUnits);
    const std::int64_t count =
        *rc::gen::oneOf(rc::gen::just<std::int64_t>(1), rc::gen::inRange<std::int64_t>(1, 400),
                        rc::gen::inRange<std::int64_t>(1, kMaxPeriodMillis));
    return std::min(unit * std::min(count, kMaxPeriodMillis / unit), kMaxPeriodMillis);
  });
}

/// No allowance in half of the cases.
rc::Gen<milliseconds> AnyAllowance() {
  return rc::gen::map(rc::gen::oneOf(rc::gen::just<std::int64_t>(0), rc::gen::just<std::int64_t>(0),
                                     rc::gen::inRange<std::int64_t>(1, kMaxAllowance.count() + 1),
                                     rc::gen::element<std::int64_t>(500, 1000, 60'000)),
                      [](std::int64_t millis) { return milliseconds(millis); });
}

rc::Gen<std::map<std::string, std::vector<Limit>>> AnyResources(bool with_default) {
  return rc::gen::exec([with_default] {
    std::map<std::string, std::vector<Limit>> resources;
    for (const std::string& name : *Some(kResources, 0, 3)) resources[name] = *AnyLimits();
    if (with_default && *rc::gen::arbitrary<bool>()) resources["_default_"] = *AnyLimits();
    return resources;
  });
}

}  // namespace

rc::Gen<Quota> AnyQuota() {
  return rc::gen::exec([] {
    const std::int64_t amount = *AnyMillitokens();
    const std::int64_t capacity = *rc::gen::oneOf(rc::gen::just(amount), AnyMillitokens());
    return Quota{.capacity = capacity, .amount = amount, .period = *AnyPeriod()};
  });
}

rc::Gen<Limit> AnyLimit() {
  return rc::gen::exec([] {
    return Limit{.name = *rc::gen::elementOf(kLimitNames),
                 .quota = *AnyQuota(),
                 .allowance = *AnyAllowance()};
  });
}

rc::Gen<std::vector<Limit>> AnyLimits() {
  return rc::gen::exec([] {
    std::vector<Limit> limits;
    for (const std::string& name : *Some(kLimitNames, 1, 4)) {
      limits.push_back({name, *AnyQuota(), *AnyAllowance()});
    }
    return limits;
  });
}

rc::Gen<LimitsFile> AnyLimitsFile() {
  return rc::gen::exec([] {
    LimitsFile file;
    file.namespace_name = *rc::gen::elementOf(kNamespaces);
    file.on_unavailable = *rc::gen::element<std::optional<OnUnavailable>>(
        std::nullopt, OnUnavailable::kAllow, OnUnavailable::kBlock);
    if (*rc::gen::arbitrary<bool>()) file.system = *AnyLimits();
    file.resources = *AnyResources(false);
    // An entity's parent has a higher index than the entity: no cycle is possible. A chain has at
    // most kMaxCascade entities.
    const auto ids = *Some(kEntities, 0, 8);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      EntityDeclaration& entity = file.entities[ids[i]];
      entity.resources = *AnyResources(true);
      if (*rc::gen::arbitrary<bool>()) continue;
      entity.parent = i + 1 < ids.size() ? ids[i + 1] : "elsewhere";
      entity.cascade = i + 1 < ids.size() && *rc::gen::arbitrary<bool>();
    }
    return file;
  });
}

}  // namespace weir
