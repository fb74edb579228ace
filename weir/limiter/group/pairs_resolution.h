// Resolves the limits of several pairs at the same time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weir/limiter/resolution/resolver.h"

namespace weir {

/// A pair and its limits, once they have been read.
struct PairResult {
  std::string entity;
  std::string resource;
  Result<ResolvedPtr> found{};
};
using PairResults = std::vector<PairResult>;

enum class PairReads {
  kCached,   ///< Resolver::Resolve
  kRenewed,  ///< Resolver::Renew
};

/// Starts all reads. When all have ended, calls `done` once with the pairs in their order, on the
/// thread on which the last read ends. `pairs` is not empty and contains each pair once.
void ResolvePairs(Resolver& resolver, PairResults pairs, PairReads reads, Deadline deadline,
                  std::move_only_function<void(PairResults)> done);

}  // namespace weir
