// Which limits hold for (entity, resource), remembered. Mechanism: docs/design/limiter.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "weir/store/charge.h"
#include "weir/store/config_store.h"

namespace weir {

/// The answer for one (entity, resource). Immutable, shared by all requests on the pair.
struct Resolved {
  /// The buckets a request charges: the entity's own first, then its parent's and so on while
  /// `cascade` says so, at most kMaxCascade. An ancestor for whom no limits are set is left out.
  std::vector<TargetPtr> targets;
  Level source;  ///< the level that the entity's own limits come from
  std::optional<OnUnavailable> on_unavailable;
};
using ResolvedPtr = std::shared_ptr<const Resolved>;

struct ResolverStats {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t joined = 0;  ///< misses that waited for a fetch already under way
  std::uint64_t evicted = 0;
  std::uint64_t size = 0;
};

}  // namespace weir
