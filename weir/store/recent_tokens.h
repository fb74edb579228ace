// The latest adjusts of a table, so that a repeated one counts once.
#pragma once

#include <array>
#include <cstddef>
#include <unordered_map>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/store/bucket_store.h"

namespace weir {

/// Remembers at least the latest kTokensPerPart tokens. Thread-safe.
class RecentTokens {
 public:
  static constexpr std::size_t kParts = 16;
  static constexpr std::size_t kTokensPerPart = 4096;

  /// False if it is known already.
  bool Insert(AdjustToken token);
  /// For an adjust that was refused: it may come again.
  void Forget(AdjustToken token);

 private:
  struct Hash {
    std::size_t operator()(AdjustToken token) const { return token.high ^ token.low; }
  };
  struct Part {
    Mutex mutex;
    /// Where in `ring` each stands. A place may name a token that was forgotten since.
    std::unordered_map<AdjustToken, std::size_t, Hash> known WEIR_GUARDED_BY(mutex);
    std::vector<AdjustToken> ring WEIR_GUARDED_BY(mutex);
    std::size_t next WEIR_GUARDED_BY(mutex) = 0;  // the oldest, once the ring is full
  };
  Part& PartOf(AdjustToken token) { return parts_[token.low % kParts]; }
  std::array<Part, kParts> parts_;
};

}  // namespace weir
