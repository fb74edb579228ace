// The metrics of a producer: their names in the Kinesis Producer Library and for Prometheus.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace weir::kinesis {

enum class MetricsLevel { kNone, kSummary, kDetailed };
enum class MetricsGranularity { kGlobal, kStream, kShard };

/// Parse the values of the library's properties MetricsLevel and MetricsGranularity. Return nothing
/// for any other text.
std::optional<MetricsLevel> ParseMetricsLevel(std::string_view name);
std::optional<MetricsGranularity> ParseMetricsGranularity(std::string_view name);

/// The metrics of the Kinesis Producer Library 1.0.7, without UnhealthyDaemon, as there is no
/// daemon here, and with two of our own. The comment at each metric gives the event that adds a
/// sample, and the value of the sample.
enum class Metric : std::uint8_t {
  kUserRecordsReceived,      ///< a put: 1
  kUserRecordsDataReceived,  ///< a put: the bytes of its data; our own
  kUserRecordsPending,       ///< at Publish, at most every 200 ms: user records without a result
  kUserRecordsPut,           ///< a result: 1 if the record was stored, else 0
  kUserRecordsDataPut,       ///< a stored record: the bytes of its data
  kKinesisRecordsPut,        ///< a response for an entry: 1 if it was stored, else 0
  kKinesisRecordsDataPut,    ///< an entry that was stored: the bytes of its data
  kErrorsByCode,             ///< an entry or a whole request that failed: 1
  kAllErrors,          ///< a response for an entry: 0 or, if it failed, 1; a failed request: 1
  kRetriesPerRecord,   ///< a result: the number of attempts less 1
  kUserRecordExpired,  ///< a result whose last attempt has the code Expired: 1
  /// A result, for each attempt that it has: the time since the previous attempt or the put.
  kBufferingTime,
  kRequestTime,  ///< a request that ended, with or without a response: the time since it was sent
  kUserRecordsPerKinesisRecord,  ///< a Kinesis record that is sent: its user records
  /// A request that is sent: its Kinesis records.
  kKinesisRecordsPerPutRecordsRequest,
  /// A request that is sent: its user records.
  kUserRecordsPerPutRecordsRequest,
  kTimeToResult,  ///< a result: the time since the put; our own
};
inline constexpr std::size_t kMetrics = 17;

struct MetricInfo {
  std::string_view name;
  std::string_view unit;  ///< "Count", "Bytes" or "Milliseconds"
  MetricsLevel level;     ///< the lowest level that includes the metric
  bool is_ours = false;   ///< the library has no such metric; it is not uploaded to CloudWatch
};
/// Returns name, unit and level of a metric.
const MetricInfo& InfoOf(Metric metric);
/// Returns the metric of this name; nothing if there is none.
std::optional<Metric> MetricNamed(std::string_view name);

/// A counter for Prometheus, computed from a metric.
struct MetricCounter {
  enum class Part {
    kSum,
    kCount,
    /// Count less sum: the number of zeros, for a metric whose samples are 0 and 1.
    kZeros,
  };
  std::string_view name;
  std::string_view help;
  Metric metric;
  Part part;
};
/// Returns all counters.
std::span<const MetricCounter> MetricCounters();

}  // namespace weir::kinesis
