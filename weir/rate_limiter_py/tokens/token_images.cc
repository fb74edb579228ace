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
  const auto place = places_.find(key);
  if (place == places_.end()) return std::nullopt;
  entries_.splice(entries_.begin(), entries_, place->second);
  return place->second->second;
}

void TokenImages::Put(const AccountKey& key, const TokenImage& image, bool surely) {
  const MutexLock lock(mutex_);
  const auto place = places_.find(key);
  if (place != places_.end()) {
    TokenImage& known = place->second->second;
    if (surely || !IsOlder(image, known)) known = image;
    return;
  }
  if (entries_.size() >= most_) {
    places_.erase(entries_.back().first);
    entries_.pop_back();
  }
  entries_.emplace_front(key, image);
  places_.emplace(key, entries_.begin());
}

void TokenImages::Forget(const AccountKey& key) {
  const MutexLock lock(mutex_);
  const auto place = places_.find(key);
  if (place == places_.end()) return;
  entries_.erase(place->second);
  places_.erase(place);
}

}  // namespace weir::rate_limiter_py
