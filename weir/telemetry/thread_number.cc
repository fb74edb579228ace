#include "weir/telemetry/thread_number.h"

#include <atomic>

namespace weir::internal {

std::uint32_t AssignThreadNumber() {
  // The only state here that the whole process shares: numbers belong to threads, which no object
  // of this library owns.
  static constinit std::atomic<std::uint32_t> given = 0;
  // 0 means "no number", so it is skipped when the numbers wrap.
  do thread_number = given.fetch_add(1, std::memory_order_relaxed) + 1;
  while (thread_number == 0);
  return thread_number;
}

}  // namespace weir::internal
