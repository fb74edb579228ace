// Reads the limits of a pair and their balances without taking tokens.
#pragma once

#include <string_view>
#include <vector>

#include "weir/base/api.h"
#include "weir/limiter/resolution/resolver.h"
#include "weir/model/tokens.h"
#include "weir/runtime/deadline.h"
#include "weir/store/bucket/bucket_store.h"

namespace weir {

/// The limits that apply to a pair, with the buckets as last written and refilled to the present.
struct Peeked {
  /// The decision that a request for the amounts would get now, if no other request waits and no
  /// other process changes the buckets. `retry_after` is the time until it would be admitted.
  /// Allowances are left out: tokens that a process holds in advance count as taken.
  Decision decision;
  /// levels[i] is the level that decision.limits[i] comes from.
  std::vector<Level::Kind> levels;
};

/// A request for `amounts` of the limits of this pair, by name; without amounts, for 0 of each. The
/// views must stay valid until the call returns.
struct PeekRequest {
  std::string_view entity;
  std::string_view resource;
  Amounts amounts{};
};

/// Resolves the limits and reads the buckets; changes nothing. Errors are those of Resolver and of
/// BucketStore::Read, and kInvalidArgument if the amounts can never be admitted. The resolver and
/// the store must live until `done` has run.
WEIR_API void Peek(Resolver& resolver, BucketStore& store, const PeekRequest& request,
                   Deadline deadline, Done<Peeked> done);

}  // namespace weir
