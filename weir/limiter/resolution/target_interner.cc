#include "weir/limiter/resolution/target_interner.h"

#include <utility>

namespace weir {

TargetPtr TargetInterner::Share(TargetPtr target) {
  const MutexLock lock(mutex_);
  if (slots_.empty()) slots_.resize(kSlots);
  TargetPtr& slot = slots_[target->hash % kSlots];
  const bool same = slot != nullptr && slot->key == target->key && SameLimits(*slot, *target);
  if (!same) std::swap(slot, target);
  return slot;
}

}  // namespace weir
