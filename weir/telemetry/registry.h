// Names for metrics, and their text for Prometheus.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/api.h"
#include "weir/base/mutex.h"
#include "weir/base/result.h"
#include "weir/telemetry/counter.h"
#include "weir/telemetry/histogram.h"

namespace weir {

/// Pairs of name and value. Values may be any UTF-8 text.
using Labels = std::vector<std::pair<std::string, std::string>>;

struct MetricName {
  std::string name;
  std::string help;  ///< one sentence; the same for all metrics of one name
  Labels labels = {};
};

/// A name whose metrics appear and disappear, and the names of their labels.
struct FamilyName {
  std::string name;
  std::string help;
  std::vector<std::string> labels;
};

/// One metric of a FamilyName.
template <typename Value>
struct Labelled {
  /// The values of the labels, as many as the family has names. A label with an empty value is not
  /// exported.
  std::vector<std::string> labels;
  Value value{};
};
template <typename Value>
using ReadLabelled = std::function<std::vector<Labelled<Value>>()>;

/// The unit and the bounds in which a histogram is exported. The bounds are 2^k - 1 recorded units,
/// from the first that is at least `lowest` to the first that is at least `highest`. These are
/// edges of the histogram's buckets, so the exported counts are exact.
struct HistogramText {
  /// The number of recorded units in one exported unit. (It is a divisor, because 1e9 is exact as a
  /// double and 1e-9 is not.)
  double units = 1;
  std::int64_t lowest = 1;
  std::int64_t highest = 1 << 20;
};

/// For values recorded in nanoseconds and exported in seconds, from 1 us to a minute.
inline constexpr HistogramText kNanosAsSeconds{1e9, 1'000, 60'000'000'000};

/// Gives names to metrics that other components own. `main` creates one registry and passes it to
/// the components. Any thread may call any method at any time.
///
/// Metrics and functions that are added must stay valid for the life of the registry. Each Add
/// method returns an error and adds nothing in these cases: kInvalidArgument for a name, label or
/// bound that Prometheus would not accept; kAlreadyExists for a name that has a metric with these
/// labels already, that is of another type or has another help, or if one of the exported names is
/// in use (a histogram `x` is also exported as x_count, x_sum and x_bucket).
class WEIR_API Registry {
 public:
  Registry();
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  [[nodiscard]] Status Add(MetricName name, const Counter& counter);
  [[nodiscard]] Status Add(MetricName name, const Gauge& gauge);
  [[nodiscard]] Status Add(MetricName name, const Histogram& histogram, HistogramText text = {});
  /// For numbers that other code holds. `read` is called in Text(), on the thread of its caller
  /// and under no lock.
  [[nodiscard]] Status AddCounter(MetricName name, std::function<std::uint64_t()> read);
  [[nodiscard]] Status AddGauge(MetricName name, std::function<double()> read);

  /// Adds all metrics of a name at once. `read` returns them in the order in which they are
  /// exported, and must return each of them once. A metric whose number of labels differs from the
  /// number of names is not exported.
  [[nodiscard]] Status AddCounters(const FamilyName& name, ReadLabelled<std::uint64_t> read);
  [[nodiscard]] Status AddGauges(const FamilyName& name, ReadLabelled<double> read);
  [[nodiscard]] Status AddHistograms(const FamilyName& name, HistogramText text,
                                     ReadLabelled<HistogramSnapshot> read);

  /// Returns the metrics in the text exposition format 0.0.4, content type "text/plain;
  /// version=0.0.4". Names are sorted, and so are the metrics of each name by their labels, unless
  /// one `read` returns all metrics of the name. Numbers are doubles: integers are exact up to
  /// 2^53.
  std::string Text() const;

 private:
  struct WEIR_INTERNAL Source;
  struct WEIR_INTERNAL Families;

  // Checks the name and adds its source to a copy of the table, which replaces the table.
  [[nodiscard]] Status Put(MetricName name, Source source) WEIR_EXCLUDES(mutex_);

  mutable Mutex mutex_;
  /// Immutable; replaced as a whole, so that Text can use its copy of the pointer without the lock.
  std::shared_ptr<const Families> families_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir
