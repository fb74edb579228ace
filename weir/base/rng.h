// Random numbers that are the same with every compiler and standard library, so that a seed replays
// a run. (The distributions of std differ between libraries.) Not for secrets.
#pragma once

#include <cstdint>
#include <vector>

#include "weir/base/api.h"

namespace weir {

/// The generator xoshiro256** 1.0 (Blackman and Vigna, 2018), seeded by splitmix64. Copyable: a
/// copy continues the same sequence. Not thread-safe.
class WEIR_API Rng {
 public:
  explicit Rng(std::uint64_t seed);

  /// Returns 64 random bits.
  std::uint64_t Next();
  /// Returns a number that is uniform in [0, bound), without bias. REQUIRES: bound > 0.
  std::uint64_t Below(std::uint64_t bound);
  /// Returns a number that is uniform in [low, high], both included. REQUIRES: low <= high.
  std::int64_t Between(std::int64_t low, std::int64_t high);
  /// Returns a number that is uniform in [0, 1), with 53 random bits.
  double Unit();
  /// Returns true with this probability.
  bool Chance(double probability) { return Unit() < probability; }

 private:
  std::uint64_t state_[4];
};

/// Returns 64 random bits from the operating system, for a seed that no other process has.
WEIR_API std::uint64_t SystemSeed();

/// Draws ranks from 0 to n-1; rank k has the weight 1 / (k + 1)^exponent. A draw is a binary search
/// in a table of n doubles. Immutable after construction, so threads may share it.
class WEIR_API Zipf {
 public:
  /// REQUIRES: n > 0, exponent >= 0 (0 is uniform).
  Zipf(std::uint64_t n, double exponent);
  std::uint64_t Draw(Rng& rng) const;

 private:
  std::vector<double> cumulative_;
};

}  // namespace weir
