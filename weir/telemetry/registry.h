// The names of metrics, and their text for Prometheus.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/base/result.h"
#include "weir/telemetry/counter.h"
#include "weir/telemetry/histogram.h"

namespace weir {

/// Pairs of name and value. The values are UTF-8, otherwise free.
using Labels = std::vector<std::pair<std::string, std::string>>;

struct MetricName {
  std::string name;
  std::string help;  ///< one sentence; the same for all metrics of one name
  Labels labels = {};
};

/// For a name whose metrics come and go: the names of their labels.
struct FamilyName {
  std::string name;
  std::string help;
  std::vector<std::string> labels;
};

/// One of these metrics.
template <typename Value>
struct Labelled {
  std::vector<std::string> labels;  ///< values, as many as names; an empty one is not told
  Value value{};
};
template <typename Value>
using ReadLabelled = std::function<std::vector<Labelled<Value>>()>;

/// In which unit and with which bounds a histogram is told. The bounds are 2^k - 1 recorded units,
/// which are edges of its buckets, so that the counts told are exact: from the first that is at
/// least `lowest` to the first that is at least `highest`.
struct HistogramText {
  /// So many recorded units make one of those told. (A divisor, because 1e9 is exact and 1e-9 not.)
  double units = 1;
  std::int64_t lowest = 1;
  std::int64_t highest = 1 << 20;
};

/// Recorded in nanoseconds, told in seconds, from 1 us to a minute.
inline constexpr HistogramText kNanosAsSeconds{1e9, 1'000, 60'000'000'000};

/// Names metrics that others own. `main` makes one and passes it in. Any thread may call anything.
///
/// What is added must outlive the registry. Each Add answers kInvalidArgument, and adds nothing,
/// for a name, label or bound that Prometheus would not take; kAlreadyExists for a name that has
/// these labels already, is of another type or has another help, or that would be told under a name
/// that is taken (a histogram `x` is also told as x_count, x_sum and x_bucket).
class Registry {
 public:
  Registry();
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  [[nodiscard]] Status Add(MetricName name, const Counter& counter);
  [[nodiscard]] Status Add(MetricName name, const Gauge& gauge);
  [[nodiscard]] Status Add(MetricName name, const Histogram& histogram, HistogramText text = {});
  /// For numbers that are kept elsewhere: read on the thread that asks for the text, under no lock.
  [[nodiscard]] Status AddCounter(MetricName name, std::function<std::uint64_t()> read);
  [[nodiscard]] Status AddGauge(MetricName name, std::function<double()> read);

  /// The same for all metrics of a name at once, told in the order in which they are read, each
  /// once (the caller's duty). What has more or fewer labels than names is left out.
  [[nodiscard]] Status AddCounters(const FamilyName& name, ReadLabelled<std::uint64_t> read);
  [[nodiscard]] Status AddGauges(const FamilyName& name, ReadLabelled<double> read);
  [[nodiscard]] Status AddHistograms(const FamilyName& name, HistogramText text,
                                     ReadLabelled<HistogramSnapshot> read);

  /// Text exposition format 0.0.4, content type "text/plain; version=0.0.4". Names in order, and
  /// under each name the labels in order. Numbers are doubles: whole up to 2^53.
  std::string Text() const;

 private:
  struct Source;
  struct Families;

  [[nodiscard]] Status Put(MetricName name, Source source) WEIR_EXCLUDES(mutex_);

  mutable Mutex mutex_;
  /// Replaced as a whole, so that Text reads what it took without the lock.
  std::shared_ptr<const Families> families_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir
