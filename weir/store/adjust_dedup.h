// The latest adjusts of a table, so that a repeated one counts once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>

#include "weir/base/mutex.h"
#include "weir/base/time.h"
#include "weir/store/bucket_store.h"

namespace weir {

/// Remembers a token for kMemory, unless kTokensPerPart later ones of its part came since.
/// 1,048,576 tokens in all, of about 80 bytes: at 10,000 adjusts a second, those of the last 100 s.
/// Thread-safe.
class AdjustDedup {
 public:
  static constexpr std::size_t kParts = 16;
  static constexpr std::size_t kTokensPerPart = 65'536;
  static constexpr milliseconds kMemory{900'000};

  /// False if it is known already.
  bool Insert(AdjustId token, UnixMillis now);
  bool Contains(AdjustId token) const;
  /// For an adjust that was refused: it may come again.
  void Forget(AdjustId token);
  /// How many are remembered.
  std::size_t size() const;

 private:
  struct Hash {
    std::size_t operator()(AdjustId token) const { return token.high ^ token.low; }
  };
  struct Noted {
    AdjustId token;
    UnixMillis at;
  };
  struct Part {
    mutable Mutex mutex;
    /// The number of each in `noted`, which may name a token that was forgotten since.
    std::unordered_map<AdjustId, std::uint64_t, Hash> known WEIR_GUARDED_BY(mutex);
    std::deque<Noted> noted WEIR_GUARDED_BY(mutex);
    std::uint64_t first WEIR_GUARDED_BY(mutex) = 0;  // the number of noted.front()

    void ForgetOldest() WEIR_REQUIRES(mutex);
  };
  Part& PartOf(AdjustId token) { return parts_[token.low % kParts]; }
  const Part& PartOf(AdjustId token) const { return parts_[token.low % kParts]; }
  std::array<Part, kParts> parts_;
};

}  // namespace weir
