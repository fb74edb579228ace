#include "weir/store/bucket/adjust_dedup.h"

namespace weir {

void AdjustDedup::Part::ForgetOldest() {
  const auto oldest = known.find(noted.front().id);
  // If Forget removed the id and Insert added it again, `known` has a later number for it.
  if (oldest != known.end() && oldest->second == first) known.erase(oldest);
  noted.pop_front();
  ++first;
}

// The number of an id in `known` is `first` + the index of the id in `noted`.
bool AdjustDedup::Insert(AdjustId id, UnixMillis now) {
  Part& part = PartOf(id);
  const MutexLock lock(part.mutex);
  while (!part.noted.empty() && part.noted.front().at + kMemory <= now) part.ForgetOldest();
  if (!part.known.emplace(id, part.first + part.noted.size()).second) return false;
  if (part.noted.size() == kIdsPerPart) part.ForgetOldest();
  part.noted.push_back({id, now});
  return true;
}

bool AdjustDedup::Contains(AdjustId id) const {
  const Part& part = PartOf(id);
  const MutexLock lock(part.mutex);
  return part.known.contains(id);
}

void AdjustDedup::Forget(AdjustId id) {
  Part& part = PartOf(id);
  const MutexLock lock(part.mutex);
  part.known.erase(id);
}

std::size_t AdjustDedup::size() const {
  std::size_t size = 0;
  for (const Part& part : parts_) {
    const MutexLock lock(part.mutex);
    size += part.known.size();
  }
  return size;
}

}  // namespace weir
