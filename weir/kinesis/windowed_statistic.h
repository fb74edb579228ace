// A number over time, read as the Kinesis Producer Library lets its metrics be read: since the
// start, or of the last seconds.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "weir/base/time.h"

namespace weir::kinesis {

/// What is known of a set of samples.
struct Statistic {
  std::uint64_t count = 0;
  double sum = 0;  ///< exact up to 2^53 where the samples are whole
  double min = 0;  ///< 0 where there is no sample
  double max = 0;  ///< the same

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

/// A value. 88 bytes until the first sample, then 2.4 KiB more.
class WindowedStatistic {
 public:
  static constexpr std::int64_t kSeconds = 60;

  /// Samples of the second that holds `now`, which never goes back.
  void Add(const Statistic& samples, Instant now);
  /// Samples of no second: they count in the total only.
  void AddOld(const Statistic& samples) {
    total_.Add(samples);
    untaken_.Add(samples);
  }
  /// Those of another, of no second: what was taken there is not taken again here.
  void AddOld(const WindowedStatistic& other) {
    total_.Add(other.total_);
    untaken_.Add(other.untaken_);
  }
  /// The samples since the last Take: each is taken once. What others read stays as it is.
  Statistic Take() { return std::exchange(untaken_, {}); }

  const Statistic& total() const { return total_; }
  /// Of so many whole seconds, the last of which holds `now` and is not over. REQUIRES: 1 to 60.
  Statistic Last(std::chrono::seconds window, Instant now) const;

 private:
  struct Bucket {
    std::int64_t second = 0;
    Statistic samples;
  };

  Statistic total_;
  Statistic untaken_;
  std::vector<Bucket> ring_;  // second s is at s modulo kSeconds; none before the first sample
};

}  // namespace weir::kinesis
