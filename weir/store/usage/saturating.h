// Sums of counters that stop at the ends of 64 bits.
#pragma once

#include <cstdint>

namespace weir {

inline void AddSaturating(std::int64_t& sum, std::int64_t added) {
  if (__builtin_add_overflow(sum, added, &sum)) sum = added < 0 ? INT64_MIN : INT64_MAX;
}

}  // namespace weir
