// The capacity and the balance of all buckets on one resource.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "apps/weir/terminal/json.h"
#include "weir/base/result.h"
#include "weir/store/bucket/bucket_store.h"

namespace weir::app {

/// A limit of one or of several buckets, in millitokens.
struct LimitCapacity {
  std::int64_t capacity = 0;
  std::int64_t tokens = 0;  ///< refilled to the instant; negative: debt
  std::int64_t buckets = 0;
};
using LimitCapacities = std::map<std::string, LimitCapacity>;  // by limit

struct ResourceCapacity {
  std::string resource;
  UnixMillis at;
  std::map<std::string, LimitCapacities> entities{};
  LimitCapacities all{};
};

/// Adds the configured limits of a whole bucket. Each entity must be added once. Returns
/// kOutOfRange if a sum does not fit in 64 bits.
[[nodiscard]] Status Add(ResourceCapacity& sums, const BucketRecord& record);

/// Returns {"resource", "at", "entities": [{"entity", "limits": [{"name", "capacity", "tokens"}]}],
/// "all": [{"name", "capacity", "tokens", "buckets"}]}.
Json ToJson(const ResourceCapacity& sums);
std::string TextOf(const ResourceCapacity& sums);

}  // namespace weir::app
