#include "weir/telemetry/counter.h"

namespace weir {

std::uint64_t Counter::Value() const {
  std::uint64_t sum = 0;
  for (const Slot& slot : slots_) sum += slot.value.load(std::memory_order_relaxed);
  return sum;
}

}  // namespace weir
