#include "weir/kinesis/metrics/metric_names.h"

#include <algorithm>

namespace weir::kinesis {
namespace {

using Level = MetricsLevel;
using Part = MetricCounter::Part;

constexpr std::array<MetricInfo, kMetrics> kInfos{{
    {"UserRecordsReceived", "Count", Level::kDetailed},
    {"UserRecordsDataReceived", "Bytes", Level::kDetailed, true},
    {"UserRecordsPending", "Count", Level::kDetailed},
    {"UserRecordsPut", "Count", Level::kSummary},
    {"UserRecordsDataPut", "Bytes", Level::kDetailed},
    {"KinesisRecordsPut", "Count", Level::kSummary},
    {"KinesisRecordsDataPut", "Bytes", Level::kDetailed},
    {"ErrorsByCode", "Count", Level::kSummary},
    {"AllErrors", "Count", Level::kSummary},
    {"RetriesPerRecord", "Count", Level::kDetailed},
    {"UserRecordExpired", "Count", Level::kSummary},
    {"BufferingTime", "Milliseconds", Level::kSummary},
    {"RequestTime", "Milliseconds", Level::kDetailed},
    {"UserRecordsPerKinesisRecord", "Count", Level::kDetailed},
    {"KinesisRecordsPerPutRecordsRequest", "Count", Level::kDetailed},
    {"UserRecordsPerPutRecordsRequest", "Count", Level::kDetailed},
    {"TimeToResult", "Milliseconds", Level::kSummary, true},
}};

constexpr std::array kCounters{
    MetricCounter{"weir_kinesis_user_records_received_total", "User records that were put.",
                  Metric::kUserRecordsReceived, Part::kSum},
    MetricCounter{"weir_kinesis_user_records_received_bytes_total",
                  "Data of the user records that were put.", Metric::kUserRecordsDataReceived,
                  Part::kSum},
    MetricCounter{"weir_kinesis_user_records_put_total", "User records stored.",
                  Metric::kUserRecordsPut, Part::kSum},
    MetricCounter{"weir_kinesis_user_records_failed_total",
                  "User records whose result is that they were not stored.",
                  Metric::kUserRecordsPut, Part::kZeros},
    MetricCounter{"weir_kinesis_user_records_put_bytes_total", "Data of the user records stored.",
                  Metric::kUserRecordsDataPut, Part::kSum},
    MetricCounter{"weir_kinesis_kinesis_records_put_total",
                  "Kinesis records stored, those that are sent again included.",
                  Metric::kKinesisRecordsPut, Part::kSum},
    MetricCounter{"weir_kinesis_kinesis_records_put_bytes_total",
                  "Data of the Kinesis records stored.", Metric::kKinesisRecordsDataPut,
                  Part::kSum},
    MetricCounter{"weir_kinesis_errors_total",
                  "Kinesis records refused, and requests that failed as a whole.",
                  Metric::kAllErrors, Part::kSum},
    MetricCounter{"weir_kinesis_retries_total",
                  "Attempts beyond the first, of user records that have a result.",
                  Metric::kRetriesPerRecord, Part::kSum},
    MetricCounter{"weir_kinesis_user_records_expired_total",
                  "User records whose time to live ended.", Metric::kUserRecordExpired, Part::kSum},
    MetricCounter{"weir_kinesis_user_records_sent_total",
                  "User records in requests; one that is sent again counts again.",
                  Metric::kUserRecordsPerKinesisRecord, Part::kSum},
    MetricCounter{"weir_kinesis_kinesis_records_sent_total",
                  "Kinesis records in requests; one that is sent again counts again.",
                  Metric::kUserRecordsPerKinesisRecord, Part::kCount},
    MetricCounter{"weir_kinesis_requests_total", "PutRecords requests sent.",
                  Metric::kKinesisRecordsPerPutRecordsRequest, Part::kCount},
};

}  // namespace

std::optional<MetricsLevel> ParseMetricsLevel(std::string_view name) {
  if (name == "none") return Level::kNone;
  if (name == "summary") return Level::kSummary;
  if (name == "detailed") return Level::kDetailed;
  return std::nullopt;
}

std::optional<MetricsGranularity> ParseMetricsGranularity(std::string_view name) {
  if (name == "global") return MetricsGranularity::kGlobal;
  if (name == "stream") return MetricsGranularity::kStream;
  if (name == "shard") return MetricsGranularity::kShard;
  return std::nullopt;
}

const MetricInfo& InfoOf(Metric metric) { return kInfos[static_cast<std::size_t>(metric)]; }

std::optional<Metric> MetricNamed(std::string_view name) {
  const auto at = std::ranges::find(kInfos, name, &MetricInfo::name);
  if (at == kInfos.end()) return std::nullopt;
  return static_cast<Metric>(at - kInfos.begin());
}

std::span<const MetricCounter> MetricCounters() { return kCounters; }

}  // namespace weir::kinesis
