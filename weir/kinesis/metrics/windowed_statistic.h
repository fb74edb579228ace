// A metric over time, readable as in the Kinesis Producer Library: since the start, or of the last
// seconds.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "weir/base/time.h"

namespace weir::kinesis {

/// A summary of a set of samples.
struct Statistic {
  std::uint64_t count = 0;
  double sum = 0;  ///< exact up to 2^53 if the samples are whole numbers
  double min = 0;  ///< 0 without samples
  double max = 0;  ///< 0 without samples

  double mean() const { return count == 0 ? 0 : sum / static_cast<double>(count); }

  void Add(double sample) {
    min = count == 0 ? sample : std::min(min, sample);
    max = count == 0 ? sample : std::max(max, sample);
    sum += sample;
    ++count;
  }
  void Add(const Statistic& other);

  friend bool operator==(const Statistic&, const Statistic&) = default;
};

/// Not thread-safe. Takes 88 bytes until the first sample, then 2400 more.
class WindowedStatistic {
 public:
  static constexpr std::int64_t kSeconds = 60;

  /// Adds samples of the second that holds `now`, which must not go back.
  void Add(const Statistic& samples, Instant now);
  /// Adds samples that belong to no second: they count in the total only.
  void AddOld(const Statistic& samples) {
    total_.Add(samples);
    untaken_.Add(samples);
  }
  /// Adds the samples of another object as samples that belong to no second. Samples that Take of
  /// `other` has returned are not returned again by Take of this object.
  void AddOld(const WindowedStatistic& other) {
    total_.Add(other.total_);
    untaken_.Add(other.untaken_);
  }
  /// Returns the samples since the last Take: each is taken once. total() and Last() do not change.
  Statistic Take() { return std::exchange(untaken_, {}); }

  const Statistic& total() const { return total_; }
  /// Returns the samples of the last `window`, which includes the second of `now`. REQUIRES: 1 to
  /// 60 s.
  Statistic Last(std::chrono::seconds window, Instant now) const;

 private:
  struct Bucket {
    std::int64_t second = 0;
    Statistic samples;
  };

  Statistic total_;
  Statistic untaken_;
  // Second s is at index s modulo kSeconds; empty before the first sample.
  std::vector<Bucket> ring_;
};

}  // namespace weir::kinesis
