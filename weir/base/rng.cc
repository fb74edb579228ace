#include "weir/base/rng.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

namespace weir {
namespace {

std::uint64_t SplitMix(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15U);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

}  // namespace

Rng::Rng(std::uint64_t seed) {
  for (std::uint64_t& word : state_) word = SplitMix(seed);
}

std::uint64_t Rng::Next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

std::uint64_t Rng::Below(std::uint64_t bound) {
  // Draws below 2^64 mod bound are discarded, so that each residue is equally likely.
  const std::uint64_t threshold = (0 - bound) % bound;
  std::uint64_t draw = Next();
  while (draw < threshold) draw = Next();
  return draw % bound;
}

std::int64_t Rng::Between(std::int64_t low, std::int64_t high) {
  const auto span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
  const std::uint64_t offset = span == 0 ? Next() : Below(span);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + offset);
}

double Rng::Unit() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

// Uses the system call: each std::random_device executes CPUID, which interrupts a virtual machine.
// In a profile of bench/fleet that took 10 % of a decision.
std::uint64_t SystemSeed() {
  std::uint64_t seed = 0;
  if (getentropy(&seed, sizeof seed) == 0) return seed;
  std::random_device device;  // for a kernel without getentropy
  return (std::uint64_t{device()} << 32) | device();
}

Zipf::Zipf(std::uint64_t n, double exponent) {
  cumulative_.reserve(n);
  double sum = 0;
  for (std::uint64_t rank = 1; rank <= n; ++rank) {
    sum += std::pow(static_cast<double>(rank), -exponent);
    cumulative_.push_back(sum);
  }
}

std::uint64_t Zipf::Draw(Rng& rng) const {
  const double at = rng.Unit() * cumulative_.back();
  const auto found = std::upper_bound(cumulative_.begin(), cumulative_.end(), at);
  const auto rank = static_cast<std::uint64_t>(found - cumulative_.begin());
  return std::min(rank, static_cast<std::uint64_t>(cumulative_.size() - 1));
}

}  // namespace weir
