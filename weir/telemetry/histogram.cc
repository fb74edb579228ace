#include "weir/telemetry/histogram.h"

#include <algorithm>
#include <cmath>
#include <memory>

namespace weir {

std::int64_t HistogramSnapshot::Quantile(double q) const {
  const auto requested = static_cast<std::uint64_t>(std::ceil(q * static_cast<double>(count_)));
  // A double is not exact for large counts, so the product with q may be rounded up beyond count_.
  const std::uint64_t rank =
      std::clamp<std::uint64_t>(requested, 1, std::max<std::uint64_t>(count_, 1));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen >= rank) return std::min(HistogramLayout::LargestIn(i), max_);
  }
  return max_;
}

std::uint64_t HistogramSnapshot::CountUpTo(std::int64_t value) const {
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < counts_.size() && HistogramLayout::LargestIn(i) <= value; ++i) {
    seen += counts_[i];
  }
  return seen;
}

void HistogramSnapshot::Merge(const HistogramSnapshot& other) {
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  max_ = std::max(max_, other.max_);
}

Histogram::~Histogram() {
  for (const std::atomic<Stripe*>& stripe : stripes_) delete stripe.load(std::memory_order_acquire);
}

HistogramSnapshot Histogram::Snapshot() const {
  HistogramSnapshot snapshot;
  for (const std::atomic<Stripe*>& slot : stripes_) {
    const Stripe* const stripe = slot.load(std::memory_order_acquire);
    if (stripe == nullptr) continue;
    for (std::size_t i = 0; i < stripe->counts.size(); ++i) {
      const std::uint64_t count = stripe->counts[i].load(std::memory_order_relaxed);
      snapshot.counts_[i] += count;
      snapshot.count_ += count;
    }
    snapshot.sum_ += stripe->sum.load(std::memory_order_relaxed);
    snapshot.max_ = std::max(snapshot.max_, stripe->max.load(std::memory_order_relaxed));
  }
  return snapshot;
}

// acq_rel publishes the zeroed counts to threads that load the pointer (acquire) in Record and
// Snapshot, and makes the other thread's stripe visible if that thread was first.
Histogram::Stripe& Histogram::MakeStripe() {
  std::atomic<Stripe*>& slot = stripes_[ThreadNumber() % kStripes];
  auto fresh = std::make_unique<Stripe>();
  Stripe* other = nullptr;
  const bool is_ours = slot.compare_exchange_strong(other, fresh.get(), std::memory_order_acq_rel);
  return is_ours ? *fresh.release() : *other;
}

void Histogram::RaiseMax(Stripe& stripe, std::int64_t value) {
  std::int64_t seen = stripe.max.load(std::memory_order_relaxed);
  while (seen < value &&
         !stripe.max.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

}  // namespace weir
