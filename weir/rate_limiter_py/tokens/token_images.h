// A cache of the last image of each account's bucket that this process has read.
#pragma once

#include <list>
#include <map>
#include <optional>
#include <utility>

#include "weir/base/mutex.h"
#include "weir/rate_limiter_py/tokens/token_item.h"

namespace weir::rate_limiter_py {

/// Keeps at most `most` images, and evicts the one that was looked up least recently. A cached
/// image is never trusted for a take, so a stale or missing one costs only a request. Thread-safe.
class TokenImages {
 public:
  /// REQUIRES: most > 0.
  explicit TokenImages(std::size_t most) : most_(most) {}

  std::optional<TokenImage> Find(const AccountKey& key);
  /// Stores an image. Responses may arrive out of order: an image of an earlier refill, or of the
  /// same refill with more tokens, is ignored, unless it is `surely` the newest.
  void Put(const AccountKey& key, const TokenImage& image, bool surely);
  void Forget(const AccountKey& key);

 private:
  using Entry = std::pair<AccountKey, TokenImage>;

  const std::size_t most_;
  Mutex mutex_;
  std::list<Entry> entries_ WEIR_GUARDED_BY(mutex_);  // the most recently looked up one comes first
  std::map<AccountKey, std::list<Entry>::iterator> places_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::rate_limiter_py
