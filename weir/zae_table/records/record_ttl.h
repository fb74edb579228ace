// When records leave the table.
#pragma once

#include <cstdint>

#include "weir/base/time.h"
#include "weir/codec/iso_time.h"

namespace weir::dynamo {

/// Returns the attribute `ttl` of an item that is kept for this number of days after `at`: Unix
/// seconds.
inline std::int64_t TtlAfter(UnixMillis at, std::int64_t days) {
  constexpr std::int64_t kSecondsOfDay = 86'400;
  return WholeSeconds(at) + days * kSecondsOfDay;
}

}  // namespace weir::dynamo
