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

/// Starts all reads, and passes the pairs in their order to `done` when all have ended, once, on
/// the thread on which the last one ends. `pairs` is not empty; each pair is in it once.
void ResolvePairs(Resolver& resolver, PairResults pairs, PairReads reads, Deadline deadline,
                  std::move_only_function<void(PairResults)> done);

}  // namespace weir
