#include "weir/store/recent_tokens.h"

namespace weir {

bool RecentTokens::Insert(AdjustToken token) {
  Part& part = PartOf(token);
  const MutexLock lock(part.mutex);
  if (!part.known.insert(token).second) return false;
  if (part.ring.size() < kTokensPerPart) {
    part.ring.push_back(token);
    return true;
  }
  AdjustToken& oldest = part.ring[part.next++ % kTokensPerPart];
  part.known.erase(oldest);
  oldest = token;
  return true;
}

void RecentTokens::Forget(AdjustToken token) {
  Part& part = PartOf(token);
  const MutexLock lock(part.mutex);
  part.known.erase(token);
}

}  // namespace weir
