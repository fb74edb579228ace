#include "weir/rate_limiter_py/tokens/token_images.h"

namespace weir::rate_limiter_py {
namespace {

bool IsOlder(const TokenImage& image, const TokenImage& known) {
  if (image.last_refill != known.last_refill) return image.last_refill < known.last_refill;
  const bool same_quota = image.limit == known.limit && image.window == known.window;
  return same_quota && image.tokens > known.tokens;
}

}  // namespace

std::optional<TokenImage> TokenImages::Find(const AccountKey& key) {
  const MutexLock lock(mutex_);
  const TokenImage* const known = images_.Find(key);
  return known == nullptr ? std::nullopt : std::optional(*known);
}

void TokenImages::Put(const AccountKey& key, const TokenImage& image, bool is_newest) {
  const MutexLock lock(mutex_);
  const TokenImage* const known = images_.Find(key);
  if (known != nullptr && !is_newest && IsOlder(image, *known)) return;
  images_.Put(key, image);
}

void TokenImages::Forget(const AccountKey& key) {
  const MutexLock lock(mutex_);
  images_.Erase(key);
}

}  // namespace weir::rate_limiter_py
