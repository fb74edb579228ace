// Divides busy buckets of all namespaces of a table.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "weir/aggregator/refill/batch_upkeep.h"
#include "weir/base/lru_map.h"
#include "weir/zae_table/keys.h"
#include "weir/zae_table/sharding/shard_splitter.h"

namespace weir::dynamo {

/// Used on the scheduler's thread only. The parts must outlive it and its requests.
class BucketDivider {
 public:
  struct Parts {
    Table& table;
    Scheduler& scheduler;
    Log& log;
  };
  /// `seed` determines the random pauses.
  BucketDivider(const Parts& parts, std::uint64_t seed);
  /// Waits for threads that divide buckets; divisions in flight end without a result.
  ~BucketDivider();
  BucketDivider(const BucketDivider&) = delete;
  BucketDivider& operator=(const BucketDivider&) = delete;

  /// Divides the bucket, or creates its missing shards, in the background. A division that fails is
  /// logged; one that comes while kMaxInFlight are in flight is dropped. A later batch requests the
  /// division again if the bucket is still busy.
  void Divide(const Division& division);
  /// Returns the number of divisions that were dropped.
  std::uint64_t dropped() const { return dropped_; }

  static constexpr std::size_t kMaxInFlight = 16;

 private:
  /// The objects of one namespace.
  struct Namespace;
  using NamespacePtr = std::shared_ptr<Namespace>;
  /// The maximum number of namespaces whose pauses between two divisions are observed.
  static constexpr std::size_t kMaxNamespaces = 256;

  /// Returns an object that counts as a division in flight until it is destroyed.
  std::shared_ptr<void> Reserve();

  const Parts parts_;
  std::uint64_t seed_;
  std::uint64_t dropped_ = 0;
  /// Shared and atomic, because divisions end on threads of the table.
  const std::shared_ptr<std::atomic<std::size_t>> in_flight_ =
      std::make_shared<std::atomic<std::size_t>>(0);
  LruMap<std::string, NamespacePtr> namespaces_{kMaxNamespaces};
};

}  // namespace weir::dynamo
