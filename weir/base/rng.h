// Random numbers that are the same on every compiler and library, so that a seed replays a run.
// (std distributions differ between libraries.) Not for secrets.
#pragma once

#include <cstdint>
#include <vector>

namespace weir {

/// xoshiro256** 1.0 (Blackman and Vigna, 2018), seeded by splitmix64. A value; not thread-safe.
class Rng {
 public:
  explicit Rng(std::uint64_t seed);

  std::uint64_t Next();
  /// Uniform in [0, bound), without bias. REQUIRES: bound > 0.
  std::uint64_t Below(std::uint64_t bound);
  /// Uniform in [low, high], both included. REQUIRES: low <= high.
  std::int64_t Between(std::int64_t low, std::int64_t high);
  /// Uniform in [0, 1), 53 bits.
  double Unit();
  /// True with this probability.
  bool Chance(double probability) { return Unit() < probability; }

 private:
  std::uint64_t state_[4];
};

/// 64 bits from the system: seeds that nobody else has.
std::uint64_t SystemSeed();

/// Ranks 0 .. n-1, rank k with weight 1 / (k + 1)^exponent. Draws by binary search in a table of
/// n doubles. Immutable after construction; share it between threads freely.
class Zipf {
 public:
  /// REQUIRES: n > 0, exponent >= 0 (0 is uniform).
  Zipf(std::uint64_t n, double exponent);
  std::uint64_t Draw(Rng& rng) const;

 private:
  std::vector<double> cumulative_;
};

}  // namespace weir
