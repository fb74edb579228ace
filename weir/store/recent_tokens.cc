#include "weir/store/recent_tokens.h"

namespace weir {

bool RecentTokens::Insert(AdjustToken token) {
  Part& part = PartOf(token);
  const MutexLock lock(part.mutex);
  const std::size_t place = part.next % kTokensPerPart;
  if (!part.known.emplace(token, place).second) return false;
  ++part.next;
  if (part.ring.size() < kTokensPerPart) {
    part.ring.push_back(token);
    return true;
  }
  const auto oldest = part.known.find(part.ring[place]);
  if (oldest != part.known.end() && oldest->second == place && oldest->first != token) {
    part.known.erase(oldest);
  }
  part.ring[place] = token;
  return true;
}

void RecentTokens::Forget(AdjustToken token) {
  Part& part = PartOf(token);
  const MutexLock lock(part.mutex);
  part.known.erase(token);
}

}  // namespace weir
