// When which metrics are uploaded to CloudWatch, without I/O: samples and answers go in; requests
// and the next wake-up come out. Mechanism: docs/design/kinesis-metrics.md.
//
//   samples --> kept, merged by metric and minute --> one request --> uploaded
//                         ^                                |
//                         +--- after a failure, later -----+
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weir/aws/failure.h"
#include "weir/base/rng.h"
#include "weir/base/time.h"
#include "weir/kinesis/cloudwatch_wire.h"
#include "weir/kinesis/metric_dimensions.h"
#include "weir/kinesis/producer_metrics.h"
#include "weir/runtime/backoff.h"

namespace weir::kinesis {

struct MetricsUploadOptions {
  std::string metrics_namespace = "KinesisProducerLibrary";  ///< as IsMetricsNamespace has it
  milliseconds delay{60'000};                                ///< between two uploads; > 0
  std::vector<AdditionalDimension> dimensions{};             ///< of ParseAdditionalDimensions
  std::size_t most_minutes = 15;                  ///< that are kept while uploads fail; > 0
  std::size_t most_kept = 100'000;                ///< data of them, those in flight included
  std::size_t most_data = kMostMetricData;        ///< of a request; > 0
  std::size_t most_bytes = kMostMetricDataBytes;  ///< of a request, unless one datum is larger
  nanoseconds first_backoff = std::chrono::seconds(1);
  nanoseconds longest_backoff = std::chrono::minutes(1);  ///< REQUIRES: >= first_backoff > 0
};

/// As a configuration that ParseProperties accepted says.
MetricsUploadOptions MetricsUploadOf(const ProducerConfig& config);

/// A datum is the samples of one metric in one minute.
struct MetricsUploadStats {
  std::uint64_t uploaded = 0;       ///< data that CloudWatch has
  std::uint64_t requests = 0;       ///< that were sent
  std::uint64_t failures = 0;       ///< of them
  std::uint64_t maybe_doubled = 0;  ///< data that CloudWatch may have had, and that were kept
  std::uint64_t dropped = 0;        ///< data that found no room, the oldest first
  std::uint64_t refused = 0;        ///< data of requests that CloudWatch will never accept
  std::size_t kept = 0;             ///< data, those in flight included, now
};

struct MetricsUploadStep {
  std::optional<std::string> body{};  ///< PutMetricData, then OnAnswer
  std::optional<Instant> wake{};      ///< then OnWake, or OnSamples if IsDue says so
  bool ended = false;                 ///< after OnLastSamples: nothing follows
};

/// A value; not thread-safe. One request is in flight at a time. A datum is uploaded until
/// CloudWatch has accepted it: one whose request was not answered may be counted there twice, as
/// PutMetricData has no token by which it would know a request again.
class MetricsUpload {
 public:
  MetricsUpload(MetricsUploadOptions options, Instant now, std::uint64_t seed);

  /// It is time for OnSamples with what ProducerMetrics::Take returns.
  bool IsDue(Instant now) const { return !is_closing_ && now >= due_; }
  /// Dated `wall`. Metrics that the library does not have are left out.
  MetricsUploadStep OnSamples(const std::vector<MetricReading>& samples, UnixMillis wall,
                              Instant now);
  /// The same, and no more come. What is kept is uploaded at once, and again after failures, until
  /// Abandon; credentials or permissions that fail end it.
  MetricsUploadStep OnLastSamples(const std::vector<MetricReading>& samples, UnixMillis wall,
                                  Instant now);
  MetricsUploadStep OnWake(Instant now) { return Go(now); }
  /// No failure: CloudWatch accepted the request.
  MetricsUploadStep OnAnswer(const std::optional<AwsFailure>& failure, Instant now);
  /// After OnLastSamples: no more is sent. It ends when nothing is in flight.
  MetricsUploadStep Abandon(Instant now);

  MetricsUploadStats stats() const;

 private:
  struct Datum {
    UnixMillis at;
    Statistic samples;
  };
  using Minute = std::map<std::string, Datum>;  // by MetricIdentity

  void Keep(std::int64_t minute, const std::string& identity, const Datum& datum);
  void KeepSamples(const std::vector<MetricReading>& samples, UnixMillis wall);
  void DropBeyondBounds();
  std::string TakeRequest();
  void ReturnFlight();
  MetricsUploadStep Go(Instant now);

  const MetricsUploadOptions options_;
  Rng rng_;
  Backoff backoff_;
  Instant due_;                            // of the next samples
  std::optional<Instant> retry_;           // after a failure: not before
  std::map<std::int64_t, Minute> kept_;    // by minutes since 1970
  std::map<std::int64_t, Minute> flight_;  // the same
  std::size_t kept_data_ = 0;
  std::size_t flight_data_ = 0;
  bool is_closing_ = false;
  bool is_abandoned_ = false;
  MetricsUploadStats stats_;
};

}  // namespace weir::kinesis
