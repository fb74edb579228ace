// Distributions of values such as latencies and sizes. Mechanism and measurements:
// docs/design/metrics.md.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <vector>

#include "weir/base/api.h"
#include "weir/telemetry/thread_number.h"

namespace weir {

/// Log-linear buckets, 16 for each power of two (after HdrHistogram). Values under 32 have a bucket
/// each, and no bucket is wider than 1/16 of its smallest value.
struct WEIR_API HistogramLayout {
  static constexpr std::size_t kBits = 4;
  static constexpr std::size_t kLinear = 2U << kBits;  ///< values under this have a bucket each
  static constexpr std::size_t kBuckets = 960;

  /// Returns the bucket of a value. REQUIRES: value >= 0.
  static constexpr std::size_t IndexOf(std::int64_t value) {
    const auto v = static_cast<std::uint64_t>(value);
    const auto width = static_cast<std::size_t>(std::bit_width(v | (kLinear - 1)));
    const std::size_t shift = width - (kBits + 1);
    return (shift << kBits) + static_cast<std::size_t>(v >> shift);
  }
  /// Returns the largest value of a bucket. REQUIRES: index < kBuckets.
  static constexpr std::int64_t LargestIn(std::size_t index) {
    const std::size_t shift = index < kLinear ? 0 : (index >> kBits) - 1;
    const std::uint64_t mantissa = index - (shift << kBits);
    return static_cast<std::int64_t>(((mantissa + 1) << shift) - 1);
  }
};

/// The contents of a Histogram at some time. A value.
class WEIR_API HistogramSnapshot {
 public:
  /// Returns the number of recorded values.
  std::uint64_t count() const { return count_; }
  /// Returns the sum of the recorded values; it wraps at 2^64.
  std::uint64_t sum() const { return sum_; }
  /// Returns the largest recorded value; 0 if there are no values.
  std::int64_t max() const { return max_; }

  /// Returns the ceil(q * count)-th smallest value, or up to 1/16 more than it, but no more than
  /// max(). Returns 0 if there are no values. REQUIRES: 0 <= q <= 1.
  std::int64_t Quantile(double q) const;
  /// Returns the number of values that are at most `value`. The values in the bucket of `value` are
  /// counted only if `value` is the largest value of that bucket. So the result is exact if `value`
  /// is under 32, or if value + 1 is a power of two.
  std::uint64_t CountUpTo(std::int64_t value) const;
  /// Adds the values of another snapshot.
  void Merge(const HistogramSnapshot& other);

 private:
  friend class Histogram;
  std::vector<std::uint64_t> counts_ = std::vector<std::uint64_t>(HistogramLayout::kBuckets);
  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;
  std::int64_t max_ = 0;
};

/// Counts values. Any thread may call any method at any time. A histogram has up to eight stripes
/// of 8 KiB; each stripe is allocated when a thread first needs it.
class WEIR_API Histogram {
 public:
  Histogram() = default;
  ~Histogram();
  Histogram(const Histogram&) = delete;
  Histogram& operator=(const Histogram&) = delete;

  /// Records a value; a negative one counts as 0.
  void Record(std::int64_t value) {
    if (value < 0) value = 0;
    Stripe* stripe = stripes_[ThreadNumber() % kStripes].load(std::memory_order_acquire);
    if (stripe == nullptr) stripe = &MakeStripe();
    stripe->counts[HistogramLayout::IndexOf(value)].fetch_add(1, std::memory_order_relaxed);
    stripe->sum.fetch_add(static_cast<std::uint64_t>(value), std::memory_order_relaxed);
    if (value > stripe->max.load(std::memory_order_relaxed)) RaiseMax(*stripe, value);
  }

  /// Returns the present contents. While threads record, a value may be in the count but not yet in
  /// the sum or the maximum.
  HistogramSnapshot Snapshot() const;

 private:
  static constexpr std::size_t kStripes = 8;
  struct alignas(kCacheLine) Stripe {
    std::atomic<std::uint64_t> sum = 0;
    std::atomic<std::int64_t> max = 0;
    std::array<std::atomic<std::uint64_t>, HistogramLayout::kBuckets> counts{};
  };

  // Allocates the calling thread's stripe, unless another thread has just done so.
  Stripe& MakeStripe();
  // Raises the maximum to `value`, unless it is that large already.
  static void RaiseMax(Stripe& stripe, std::int64_t value);

  std::array<std::atomic<Stripe*>, kStripes> stripes_{};
};

}  // namespace weir
