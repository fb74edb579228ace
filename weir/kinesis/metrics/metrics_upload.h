// Decides which metrics are uploaded to CloudWatch and when, without I/O: samples and responses go
// in; requests and the next wake-up come out. Mechanism: docs/design/kinesis-metrics.md.
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
#include "weir/kinesis/metrics/metric_dimensions.h"
#include "weir/kinesis/metrics/producer_metrics.h"
#include "weir/kinesis/wire/cloudwatch_wire.h"
#include "weir/runtime/backoff.h"

namespace weir::kinesis {

struct MetricsUploadOptions {
  std::string metrics_namespace = "KinesisProducerLibrary";  ///< IsMetricsNamespace accepts it
  milliseconds delay{60'000};                                ///< between two uploads; > 0
  std::vector<AdditionalDimension> dimensions{};  ///< a result of ParseAdditionalDimensions
  /// The maximum number of minutes of samples that are kept while uploads fail; > 0.
  std::size_t max_minutes = 15;
  std::size_t max_kept = 100'000;         ///< the maximum number of data, those in flight included
  std::size_t max_data = kMaxMetricData;  ///< the most data of a request; > 0
  /// The most bytes of a request, except if one datum is larger.
  std::size_t max_bytes = kMaxMetricDataBytes;
  nanoseconds first_backoff = std::chrono::seconds(1);
  nanoseconds longest_backoff = std::chrono::minutes(1);  ///< REQUIRES: >= first_backoff > 0
};

/// Returns the options of a configuration that ParseProperties accepted.
MetricsUploadOptions MetricsUploadOf(const ProducerConfig& config);

/// A datum is the samples of one metric in one minute.
struct MetricsUploadStats {
  std::uint64_t uploaded = 0;  ///< data that CloudWatch has accepted
  std::uint64_t requests = 0;  ///< requests that were sent
  std::uint64_t failures = 0;  ///< requests that failed
  /// Data of failed requests that CloudWatch may have counted all the same; they are sent again.
  std::uint64_t maybe_doubled = 0;
  /// Data that were discarded beyond the bounds, the oldest first.
  std::uint64_t dropped = 0;
  std::uint64_t refused = 0;  ///< data of requests that CloudWatch will never accept
  std::size_t kept = 0;       ///< data that are kept now, those in flight included
};

/// The actions that follow an event.
struct MetricsUploadStep {
  std::optional<std::string> body{};  ///< send PutMetricData, then OnResponse
  std::optional<Instant> wake{};      ///< call OnWake then, or OnSamples if IsDue
  bool ended = false;                 ///< after OnLastSamples: no step follows
};

/// A state machine; not thread-safe. One request is in flight at a time. A datum is sent again
/// until CloudWatch has accepted or refused it, or it is dropped. If a request had no response,
/// CloudWatch may count its data twice, since PutMetricData has no token by which CloudWatch could
/// recognize a repeated request.
class MetricsUpload {
 public:
  MetricsUpload(MetricsUploadOptions options, Instant now, std::uint64_t seed);

  /// Returns whether it is time to call OnSamples with the result of ProducerMetrics::Take.
  bool IsDue(Instant now) const { return !is_closing_ && now >= due_; }
  /// Adds samples, dated `wall`. Metrics that the library does not have are not uploaded.
  MetricsUploadStep OnSamples(const std::vector<MetricReading>& samples, UnixMillis wall,
                              Instant now);
  /// Adds the last samples. All kept data are uploaded without further delay, and retried after
  /// failures until Abandon, or until a failure of credentials or permissions.
  MetricsUploadStep OnLastSamples(const std::vector<MetricReading>& samples, UnixMillis wall,
                                  Instant now);
  MetricsUploadStep OnWake(Instant now) { return NextStep(now); }
  /// Handles the end of the request. No failure: CloudWatch accepted the request.
  MetricsUploadStep OnResponse(const std::optional<AwsFailure>& failure, Instant now);
  /// Stops sending, after OnLastSamples. The upload ends when no request is in flight.
  MetricsUploadStep Abandon(Instant now);

  MetricsUploadStats stats() const;

 private:
  struct Datum {
    UnixMillis at;
    Statistic samples;
  };
  using Minute = std::map<std::string, Datum>;  // by MetricIdentity

  /// Keeps a datum, or merges it with the kept one of the same metric and minute.
  void KeepDatum(std::int64_t minute, const std::string& identity, const Datum& datum);
  void KeepSamples(const std::vector<MetricReading>& samples, UnixMillis wall);
  /// Discards the oldest data beyond the bounds.
  void DropBeyondBounds();
  /// Moves the oldest kept data to flight_. Returns the body of their request.
  std::string TakeRequest();
  /// Moves the data of the failed request back to the kept data.
  void ReturnFlight();
  /// Returns the next step.
  MetricsUploadStep NextStep(Instant now);

  const MetricsUploadOptions options_;
  Rng rng_;
  Backoff backoff_;
  Instant due_;                            // the time at which the next samples are due
  std::optional<Instant> retry_;           // after a failure: no request before this time
  std::map<std::int64_t, Minute> kept_;    // keyed by minutes since 1970
  std::map<std::int64_t, Minute> flight_;  // data of the request in flight, by the same minutes
  std::size_t kept_data_ = 0;
  std::size_t flight_data_ = 0;
  bool is_closing_ = false;
  bool is_abandoned_ = false;
  MetricsUploadStats stats_;
};

}  // namespace weir::kinesis
