#include "weir/kinesis/metrics/metrics_upload.h"

#include <algorithm>
#include <utility>

namespace weir::kinesis {
namespace {

constexpr std::int64_t kMinuteMillis = 60'000;

std::string IdentityOf(const MetricReading& reading,
                       const std::vector<AdditionalDimension>& additional) {
  const MetricInfo& info = InfoOf(reading.metric);
  const MetricNode place{.code = reading.code, .stream = reading.stream, .shard = reading.shard};
  return MetricIdentity(info.name, info.unit, DimensionsOf(place, additional));
}

// Returns whether the failure may be temporary.
bool MayBeTemporary(FailureClass kind) {
  return kind != FailureClass::kPermanent && kind != FailureClass::kConditional &&
         kind != FailureClass::kConflict;
}

}  // namespace

MetricsUploadOptions MetricsUploadOf(const ProducerConfig& config) {
  return {.metrics_namespace = config.metrics_namespace,
          .delay = config.metrics_upload_delay,
          .dimensions = config.metric_dimensions};
}

MetricsUpload::MetricsUpload(MetricsUploadOptions options, Instant now, std::uint64_t seed)
    : options_(std::move(options)),
      rng_(seed),
      backoff_(options_.first_backoff, options_.longest_backoff),
      due_(now + options_.delay) {}

MetricsUploadStep MetricsUpload::OnSamples(const std::vector<MetricReading>& samples,
                                           UnixMillis wall, Instant now) {
  // The delay counts from now, even if the samples come late: two uploads are never closer than the
  // delay.
  due_ = now + options_.delay;
  KeepSamples(samples, wall);
  return NextStep(now);
}

MetricsUploadStep MetricsUpload::OnLastSamples(const std::vector<MetricReading>& samples,
                                               UnixMillis wall, Instant now) {
  is_closing_ = true;
  retry_.reset();
  KeepSamples(samples, wall);
  return NextStep(now);
}

MetricsUploadStep MetricsUpload::OnResponse(const std::optional<AwsFailure>& failure, Instant now) {
  if (!failure) {
    stats_.uploaded += flight_data_;
    backoff_.Reset();
  } else {
    ++stats_.failures;
    if (MayBeTemporary(failure->kind)) {
      if (failure->maybe_applied) stats_.maybe_doubled += flight_data_;
      ReturnFlight();
      retry_ = now + backoff_.Next(rng_);
      is_abandoned_ |= is_closing_ && failure->kind == FailureClass::kAuth;
    } else {
      stats_.refused += flight_data_;
    }
  }
  flight_.clear();
  flight_data_ = 0;
  return NextStep(now);
}

MetricsUploadStep MetricsUpload::Abandon(Instant now) {
  is_abandoned_ = true;
  return NextStep(now);
}

MetricsUploadStats MetricsUpload::stats() const {
  MetricsUploadStats stats = stats_;
  stats.kept = kept_data_ + flight_data_;
  return stats;
}

void MetricsUpload::KeepSamples(const std::vector<MetricReading>& samples, UnixMillis wall) {
  for (const MetricReading& reading : samples) {
    if (reading.statistic.count == 0 || InfoOf(reading.metric).is_ours) continue;
    KeepDatum(wall.value / kMinuteMillis, IdentityOf(reading, options_.dimensions),
              {.at = wall, .samples = reading.statistic});
  }
  DropBeyondBounds();
}

void MetricsUpload::KeepDatum(std::int64_t minute, const std::string& identity,
                              const Datum& datum) {
  const auto [at, is_new] = kept_[minute].try_emplace(identity, datum);
  if (is_new) {
    ++kept_data_;
  } else {
    at->second.samples.Add(datum.samples);
  }
}

void MetricsUpload::DropBeyondBounds() {
  while (!kept_.empty() &&
         (kept_.size() > options_.max_minutes || kept_data_ + flight_data_ > options_.max_kept)) {
    Minute& oldest = kept_.begin()->second;
    oldest.erase(oldest.begin());
    --kept_data_;
    ++stats_.dropped;
    if (oldest.empty()) kept_.erase(kept_.begin());
  }
}

void MetricsUpload::ReturnFlight() {
  for (const auto& [minute, data] : flight_) {
    for (const auto& [identity, datum] : data) KeepDatum(minute, identity, datum);
  }
  flight_data_ = 0;
  DropBeyondBounds();
}

// Takes the oldest data first.
std::string MetricsUpload::TakeRequest() {
  PutMetricDataBody body(options_.metrics_namespace);
  while (!kept_.empty() && flight_data_ < options_.max_data) {
    const auto oldest = kept_.begin();
    const auto& [identity, datum] = *oldest->second.begin();
    const std::string text = MetricDatum(identity, datum.at, datum.samples);
    if (flight_data_ > 0 && body.SizeWith(text) > options_.max_bytes) break;
    body.Add(text);
    flight_[oldest->first].insert(oldest->second.extract(oldest->second.begin()));
    ++flight_data_;
    --kept_data_;
    if (oldest->second.empty()) kept_.erase(oldest);
  }
  return std::move(body).Finish();
}

MetricsUploadStep MetricsUpload::NextStep(Instant now) {
  MetricsUploadStep step;
  if (!is_closing_) step.wake = due_;
  if (flight_data_ > 0) return step;
  if (is_closing_ && (is_abandoned_ || kept_data_ == 0)) {
    step.ended = true;
    return step;
  }
  if (kept_data_ == 0) return step;
  if (retry_ && now < *retry_) {
    step.wake = std::min(step.wake.value_or(*retry_), *retry_);
    return step;
  }
  retry_.reset();
  ++stats_.requests;
  step.body = TakeRequest();
  return step;
}

}  // namespace weir::kinesis
