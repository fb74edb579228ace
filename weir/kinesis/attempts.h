// What was tried with a user record, as its result tells it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/time.h"
#include "weir/kinesis/shard_map.h"

namespace weir::kinesis {

struct Attempt {
  Instant began;
  Instant ended;
  std::optional<ShardId> shard;  ///< the one that answered
  std::string code;              ///< the service's, or ours; empty: it succeeded
  std::string message;

  bool succeeded() const { return code.empty(); }
};

/// Codes of ours, as the Kinesis Producer Library calls them.
inline constexpr std::string_view kExpired = "Expired";
inline constexpr std::string_view kWrongShard = "Wrong Shard";
inline constexpr std::string_view kClosed = "Closed";  ///< the library has no such thing
inline constexpr std::string_view kCountMismatch = "Record Count Mismatch";

/// The first attempts and the latest, so that it stays small however often is tried.
class Attempts {
 public:
  static constexpr std::size_t kKept = 8;

  /// Shared by the user records that were tried together, so that a failure costs each a pointer.
  using Shared = std::shared_ptr<const Attempt>;

  /// Beyond kKept the second one kept makes room. REQUIRES: not null.
  void Add(Shared attempt);
  void Add(Attempt attempt) { Add(std::make_shared<const Attempt>(std::move(attempt))); }
  const std::vector<Shared>& kept() const { return kept_; }
  std::uint32_t count() const { return count_; }
  /// The latest that failed for another reason than time running out or the producer being closed:
  /// what a user must be told.
  /// Null where there is none.
  const Attempt* LastCause() const;

 private:
  std::vector<Shared> kept_;
  std::uint32_t count_ = 0;
};

}  // namespace weir::kinesis
