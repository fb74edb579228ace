// The metrics of a producer: their names in the Kinesis Producer Library, and for Prometheus.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace weir::kinesis {

enum class MetricsLevel { kNone, kSummary, kDetailed };
enum class MetricsGranularity { kGlobal, kStream, kShard };

/// As the library's properties call them; nothing for another name.
std::optional<MetricsLevel> ParseMetricsLevel(std::string_view name);
std::optional<MetricsGranularity> ParseMetricsGranularity(std::string_view name);

/// Those of the Kinesis Producer Library 1.0.7, less UnhealthyDaemon, as there is no daemon here,
/// and with two of ours. What one sample stands for is told beside each.
enum class Metric : std::uint8_t {
  kUserRecordsReceived,          ///< a put, 1
  kUserRecordsDataReceived,      ///< a put, bytes; ours
  kUserRecordsPending,           ///< every 200 ms in which something happens
  kUserRecordsPut,               ///< a result, 1 if it was stored, else 0
  kUserRecordsDataPut,           ///< a result that was stored, bytes
  kKinesisRecordsPut,            ///< an entry answered, 1 if it was stored, else 0
  kKinesisRecordsDataPut,        ///< an entry stored, bytes
  kErrorsByCode,                 ///< an entry or a whole request that failed, 1
  kAllErrors,                    ///< an entry answered, 1 or 0; a request that failed, 1
  kRetriesPerRecord,             ///< a result, attempts less the first
  kUserRecordExpired,            ///< a result whose last attempt is the expiry, 1
  kBufferingTime,                ///< an attempt, the time before it since the last, or the put
  kRequestTime,                  ///< an answer
  kUserRecordsPerKinesisRecord,  ///< a Kinesis record sent
  kKinesisRecordsPerPutRecordsRequest,  ///< a request sent
  kUserRecordsPerPutRecordsRequest,     ///< a request sent
  kTimeToResult,                        ///< a result, the time since the put; ours
};
inline constexpr std::size_t kMetrics = 17;

struct MetricInfo {
  std::string_view name;
  std::string_view unit;  ///< "Count", "Bytes" or "Milliseconds"
  MetricsLevel level;     ///< the lowest at which it is kept
  bool is_ours = false;   ///< the library has no such metric, and CloudWatch gets none
};
const MetricInfo& InfoOf(Metric metric);
/// The one of this name; nothing where there is none.
std::optional<Metric> MetricNamed(std::string_view name);

/// A counter for Prometheus, read out of a metric.
struct MetricCounter {
  enum class Part {
    kSum,
    kCount,
    kZeros,  ///< samples less their sum: of a metric whose samples are 0 and 1
  };
  std::string_view name;
  std::string_view help;
  Metric metric;
  Part part;
};
std::span<const MetricCounter> MetricCounters();

}  // namespace weir::kinesis
