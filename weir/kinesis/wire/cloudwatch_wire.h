// The body of CloudWatch's PutMetricData, in AWS JSON 1.0 (Amazon CloudWatch API Reference, version
// 2010-08-01, "PutMetricData", "MetricDatum").
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "weir/base/time.h"
#include "weir/kinesis/metrics/windowed_statistic.h"

namespace weir::kinesis {

inline constexpr std::string_view kCloudWatchTargetPrefix = "GraniteServiceVersion20100801";
inline constexpr std::string_view kCloudWatchContentType = "application/x-amz-json-1.0";
inline constexpr std::size_t kMaxMetricData = 1'000;           ///< of one request
inline constexpr std::size_t kMaxMetricDataBytes = 1'000'000;  ///< of its body; the service: 1 MB
inline constexpr std::size_t kMaxDimensions = 30;              ///< of one metric

struct MetricDimension {
  std::string name;
  std::string value;

  friend bool operator==(const MetricDimension&, const MetricDimension&) = default;
};

/// Returns whether CloudWatch accepts this namespace from a customer: 1 to 255 letters, digits and
/// ".-_/#: ", not only blanks, and neither "AWS/" nor ':' first.
bool IsMetricsNamespace(std::string_view name);
/// Converts a text to a value of a dimension that CloudWatch accepts: printable ASCII, at most 1024
/// characters. Other bytes become '?'; a longer text is cut.
std::string DimensionValue(std::string_view text);
/// Returns whether CloudWatch accepts this name of a dimension: 1 to 255 printable ASCII
/// characters, not only blanks, and not ':' first.
bool IsDimensionName(std::string_view name);

/// Returns a metric as JSON: name, unit and dimensions, the first members of a MetricDatum, without
/// the closing brace. Metrics with equal parts have equal text. Dimensions with a blank value are
/// left out. REQUIRES: at most kMaxDimensions.
std::string MetricIdentity(std::string_view name, std::string_view unit,
                           std::span<const MetricDimension> dimensions);

/// Returns a MetricDatum: the samples of one metric, dated `at`. `identity`: a result of
/// MetricIdentity.
std::string MetricDatum(std::string_view identity, UnixMillis at, const Statistic& samples);

/// Builds the body of one request.
class PutMetricDataBody {
 public:
  explicit PutMetricDataBody(std::string_view metrics_namespace);

  /// Adds a datum, a result of MetricDatum.
  void Add(std::string_view datum);
  /// Returns the size of the whole body with this datum added, in bytes.
  std::size_t SizeWith(std::string_view datum) const {
    return body_.size() + (is_empty_ ? 0 : 1) + datum.size() + 2;
  }
  /// Returns the body. Call it once.
  std::string Finish() &&;

 private:
  std::string body_;
  bool is_empty_ = true;
};

}  // namespace weir::kinesis
