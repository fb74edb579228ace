// Common parts of the tests of the stages. Tests only.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "weir/kinesis/wire/record.h"

namespace weir::kinesis {

inline constexpr Instant kStart{86'400'000'000'007};
inline constexpr HashKey kMaxHashKey = std::numeric_limits<HashKey>::max();

/// Returns the number of the first user record of each Kinesis record.
inline std::vector<std::uint64_t> Numbers(std::span<const KinesisRecord> records) {
  std::vector<std::uint64_t> numbers;
  for (const KinesisRecord& record : records) numbers.push_back(record.records.front().number);
  return numbers;
}

}  // namespace weir::kinesis
