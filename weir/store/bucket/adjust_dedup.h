// Ids of the latest adjusts of a table, so that a repeated adjust counts once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>

#include "weir/base/mutex.h"
#include "weir/base/time.h"
#include "weir/store/bucket/bucket_store.h"

namespace weir {

/// Remembers an id for kMemory, or until kIdsPerPart later ids arrive in the same part. Stores at
/// most 1,048,576 ids of about 80 bytes each: at 10,000 adjusts a second, the ids of the last 100
/// seconds. Thread-safe.
class AdjustDedup {
 public:
  static constexpr std::size_t kParts = 16;
  static constexpr std::size_t kIdsPerPart = 65'536;
  static constexpr milliseconds kMemory{900'000};

  /// Adds an id. Returns false if it is known already.
  bool Insert(AdjustId id, UnixMillis now);
  bool Contains(AdjustId id) const;
  /// Removes the id of an adjust that was refused, so that the adjust may be sent again.
  void Forget(AdjustId id);
  /// Returns the number of ids that are remembered.
  std::size_t size() const;

 private:
  struct Hash {
    std::size_t operator()(AdjustId id) const { return id.high ^ id.low; }
  };
  struct Noted {
    AdjustId id;
    UnixMillis at;
  };
  struct Part {
    mutable Mutex mutex;
    /// The number of each id in `noted`. `noted` may also contain ids that Forget removed.
    std::unordered_map<AdjustId, std::uint64_t, Hash> known WEIR_GUARDED_BY(mutex);
    std::deque<Noted> noted WEIR_GUARDED_BY(mutex);
    // the number of noted.front()
    std::uint64_t first WEIR_GUARDED_BY(mutex) = 0;

    /// Removes the first entry of `noted`, and its id unless the id was added again later.
    void ForgetOldest() WEIR_REQUIRES(mutex);
  };
  Part& PartOf(AdjustId id) { return parts_[id.low % kParts]; }
  const Part& PartOf(AdjustId id) const { return parts_[id.low % kParts]; }
  std::array<Part, kParts> parts_;
};

}  // namespace weir
