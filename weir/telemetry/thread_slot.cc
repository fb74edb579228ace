#include "weir/telemetry/thread_slot.h"

#include <atomic>

namespace weir::internal {

std::uint32_t GiveThreadSlot() {
  // The one thing here that is shared by the whole process: slots belong to threads, which do not
  // belong to any object of ours.
  static constinit std::atomic<std::uint32_t> given = 0;
  do thread_slot = given.fetch_add(1, std::memory_order_relaxed) + 1;
  while (thread_slot == 0);
  return thread_slot;
}

}  // namespace weir::internal
