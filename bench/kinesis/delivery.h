// Counts the records that the responder received.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "bench/kinesis/entries.h"
#include "bench/kinesis/responses.h"

namespace weir::bench {

/// Thread-safe.
class Delivery {
 public:
  /// If `verify`, also counts user records, for which it parses aggregates: this costs more than
  /// all the rest.
  explicit Delivery(bool verify) : verify_(verify) {}

  void Take(Format format, std::size_t bytes, const std::vector<Entry>& entries,
            const std::vector<int>& shards);

  struct Counts {
    std::uint64_t requests = 0;
    std::uint64_t entries = 0;
    std::uint64_t bytes = 0;      ///< the size of the bodies
    std::uint64_t delivered = 0;  ///< user records that a consumer would receive
    std::uint64_t distinct = 0;   ///< how many of these differ in key or data
    std::uint64_t lost = 0;       ///< entries of which a consumer would receive nothing
  };
  Counts counts() const;

 private:
  void Verify(Format format, const Entry& entry, int shard);

  const bool verify_;
  std::atomic<std::uint64_t> requests_ = 0;
  std::atomic<std::uint64_t> entries_ = 0;
  std::atomic<std::uint64_t> bytes_ = 0;
  mutable std::mutex mutex_;  // guards the members below
  std::uint64_t delivered_ = 0;
  std::uint64_t lost_ = 0;
  std::unordered_set<std::size_t> distinct_;  // hashes
};

}  // namespace weir::bench
