// Names that sort by the time of their creation.
//
// Format: github.com/ulid/spec, with its monotonic rule: 48 bits of Unix milliseconds and 80 random
// bits, in 26 characters of Crockford's base32.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/base/time.h"

namespace weir {

/// 80 random bits.
struct UlidRandom {
  std::uint16_t high = 0;
  std::uint64_t low = 0;
};

/// Makes ULIDs, each greater than the one before: within one millisecond, and after the clock was
/// set back, the random part of the last ULID is incremented by one. Not thread-safe.
class UlidMaker {
 public:
  /// REQUIRES: 0 <= now < 2^48 milliseconds.
  std::string Next(UnixMillis now, UlidRandom random);

 private:
  std::int64_t time_ = -1;
  UlidRandom last_;
};

/// Returns the time in a ULID; nothing if the text is not a ULID (lower case is refused).
std::optional<UnixMillis> TimeOfUlid(std::string_view ulid);

}  // namespace weir
