// The last image of each account's bucket that this process saw.
#pragma once

#include <list>
#include <map>
#include <optional>
#include <utility>

#include "weir/base/mutex.h"
#include "weir/rate_limiter_py/token_item.h"

namespace weir::rate_limiter_py {

/// At most `most`; the one that was not asked for longest goes first. What is remembered is never
/// trusted for a take, so one that is old or gone costs a request. Thread-safe.
class TokenImages {
 public:
  /// REQUIRES: most > 0.
  explicit TokenImages(std::size_t most) : most_(most) {}

  std::optional<TokenImage> Find(const AccountKey& key);
  /// Answers may arrive out of order: one of an earlier refill, or of the same with more tokens, is
  /// passed over, unless it is `surely` the newest.
  void Put(const AccountKey& key, const TokenImage& image, bool surely);
  void Forget(const AccountKey& key);

 private:
  using Entry = std::pair<AccountKey, TokenImage>;

  const std::size_t most_;
  Mutex mutex_;
  std::list<Entry> entries_ WEIR_GUARDED_BY(mutex_);  // the one asked for last comes first
  std::map<AccountKey, std::list<Entry>::iterator> places_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::rate_limiter_py
