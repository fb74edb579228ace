// Buckets that several rules charge.
#pragma once

#include <vector>

#include "weir/model/yaml_checks.h"
#include "weir/rules/rule.h"

namespace weir::rules {

/// The largest number of pairs of rules that CheckSharedBuckets compares.
inline constexpr std::size_t kMaxComparedPairs = 50'000'000;

/// Refuses two rules of one domain that have templates and different limits of their own, if both
/// can charge one bucket: a request with descriptors of both would be an error. The check
/// considers only fixed text, so it also refuses some pairs that never charge one bucket. It also
/// refuses a set of rules of which it would have to compare more than kMaxComparedPairs pairs.
/// Errors have the form of those of ParseYaml.
[[nodiscard]] Status CheckSharedBuckets(const YamlChecks& checks, const std::vector<Rule>& rules);

}  // namespace weir::rules
