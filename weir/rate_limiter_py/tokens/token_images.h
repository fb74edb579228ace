// A cache of the last image of each account's bucket that this process has read.
#pragma once

#include <cstddef>
#include <optional>

#include "weir/base/lru_map.h"
#include "weir/base/mutex.h"
#include "weir/rate_limiter_py/tokens/token_item.h"

namespace weir::rate_limiter_py {

/// Keeps at most `most` images, and evicts the one that was used least recently. A cached
/// image is never trusted for a take, so a stale or missing one costs only a request. Thread-safe.
class TokenImages {
 public:
  explicit TokenImages(std::size_t most) : images_(most) {}

  std::optional<TokenImage> Find(const AccountKey& key);
  /// Stores an image. Responses may arrive out of order: an image of an earlier refill, or of the
  /// same refill and quota with more tokens, is ignored, unless `is_newest`.
  void Put(const AccountKey& key, const TokenImage& image, bool is_newest);
  void Forget(const AccountKey& key);

 private:
  Mutex mutex_;
  LruMap<AccountKey, TokenImage, AccountKeyHash> images_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::rate_limiter_py
