#include "weir/kinesis/producer_config.h"

#include <absl/strings/match.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "weir/base/integer_text.h"
#include "weir/kinesis/properties_file.h"

namespace weir::kinesis {
namespace {

constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMaxPercent = 10'000;
constexpr std::int64_t kShardRecords = 1'000;
constexpr std::int64_t kShardBytes = 1024 * 1024;
// In percent of the rate. Bytes often come in pieces of 50 KiB. Each piece waits up to a
// millisecond longer than needed, which costs 1 % of the rate, so the percentage of bytes is
// higher.
constexpr std::int64_t kRecordFlow = 96;
constexpr std::int64_t kByteFlow = 97;

using Setter = std::function<Status(ProducerConfig&, const Property&)>;

tl::unexpected<Error> BadSetting(const Property& property, std::string_view right) {
  return Fail(Code::kInvalidArgument, fmt::format("line {}: {} is '{}': give {}", property.line,
                                                  property.name, property.value, right));
}

template <class Number>
Setter NumberFrom(std::int64_t min, std::int64_t max, Number ProducerConfig::* member) {
  return [min, max, member](ProducerConfig& config, const Property& property) -> Status {
    const auto number = ReadInteger<std::int64_t>(property.value);
    if (!number || *number < min || *number > max) {
      return BadSetting(property, fmt::format("a whole number from {} to {}", min, max));
    }
    config.*member = Number(*number);
    return {};
  };
}

Setter Flag(bool ProducerConfig::* member) {
  return [member](ProducerConfig& config, const Property& property) -> Status {
    const bool is_true = absl::EqualsIgnoreCase(property.value, "true");
    if (!is_true && !absl::EqualsIgnoreCase(property.value, "false")) {
      return BadSetting(property, "true or false");
    }
    config.*member = is_true;
    return {};
  };
}

Setter Text(std::string ProducerConfig::* member) {
  return [member](ProducerConfig& config, const Property& property) -> Status {
    config.*member = property.value;
    return {};
  };
}

Setter OneOf(std::vector<std::string_view> words, std::string ProducerConfig::* member) {
  return [words = std::move(words), member](ProducerConfig& config,
                                            const Property& property) -> Status {
    if (std::ranges::find(words, property.value) == words.end()) {
      return BadSetting(property, fmt::format("one of {}", fmt::join(words, ", ")));
    }
    config.*member = property.value;
    return {};
  };
}

Status SetWire(ProducerConfig& config, const Property& property) {
  if (property.value != "cbor" && property.value != "json")
    return BadSetting(property, "cbor or json");
  config.wire = property.value == "json" ? WireFormat::kJson : WireFormat::kCbor;
  return {};
}

Status SetNamespace(ProducerConfig& config, const Property& property) {
  if (!IsMetricsNamespace(property.value)) {
    return BadSetting(
        property,
        "1 to 255 letters, digits, '.', '-', '_', '/', '#', ':' and blanks, without 'AWS/' "
        "or ':' first");
  }
  config.metrics_namespace = property.value;
  return {};
}

Status SetDimensions(ProducerConfig& config, const Property& property) {
  auto dimensions = ParseAdditionalDimensions(property.value);
  if (!dimensions) {
    return Fail(Code::kInvalidArgument, fmt::format("line {}: {}: {}", property.line, property.name,
                                                    dimensions.error().message));
  }
  config.metric_dimensions = *std::move(dimensions);
  return {};
}

struct KnownProperty {
  std::string_view name;
  Setter set;
};

const std::vector<KnownProperty>& KnownProperties() {
  using Config = ProducerConfig;
  static const std::vector<KnownProperty> known{
      {"AggregationEnabled", Flag(&Config::aggregation_enabled)},
      {"AggregationMaxCount", NumberFrom(1, kAny, &Config::aggregation_max_count)},
      {"AggregationMaxSize", NumberFrom(64, 10'485'760, &Config::aggregation_max_bytes)},
      {"CollectionMaxCount", NumberFrom(1, 500, &Config::collection_max_count)},
      {"CollectionMaxSize", NumberFrom(52'224, kAny, &Config::collection_max_bytes)},
      {"RecordMaxBufferedTime", NumberFrom(0, kAny, &Config::record_max_buffered_time)},
      {"RecordTtl", NumberFrom(100, kAny, &Config::record_ttl)},
      {"MaxUserRecordSize", NumberFrom(64, 10'485'760, &Config::max_user_record_bytes)},
      {"FailIfThrottled", Flag(&Config::fail_if_throttled)},
      {"RateLimit", NumberFrom(1, kAny, &Config::rate_limit_percent)},
      {"rate_limit_records_per_sec_per_shard",
       NumberFrom(1, 1'000'000'000, &Config::shard_records_per_second)},
      {"rate_limit_bytes_per_sec_per_shard",
       NumberFrom(1, 1'000'000'000, &Config::shard_bytes_per_second)},
      {"Region", Text(&Config::region)},
      {"KinesisEndpoint", Text(&Config::endpoint)},
      {"KinesisPort", NumberFrom(1, 65'535, &Config::port)},
      {"VerifyCertificate", Flag(&Config::verify_certificate)},
      {"ConnectTimeout", NumberFrom(100, 300'000, &Config::connect_timeout)},
      {"RequestTimeout", NumberFrom(100, 600'000, &Config::request_timeout)},
      {"MaxConnections", NumberFrom(1, 256, &Config::max_connections)},
      {"ProxyHost", Text(&Config::proxy_host)},
      {"ProxyPort", NumberFrom(1, 65'535, &Config::proxy_port)},
      {"ProxyUserName", Text(&Config::proxy_user)},
      {"ProxyPassword", Text(&Config::proxy_password)},
      {"CaCertPath", Text(&Config::ca_folder)},
      {"CaCertFile", Text(&Config::ca_file)},
      {"max_outstanding_records", NumberFrom(1, 1'000'000'000, &Config::max_outstanding_records)},
      {"max_outstanding_bytes", NumberFrom(1'048'576, kAny, &Config::max_outstanding_bytes)},
      {"max_in_flight_bytes", NumberFrom(1'048'576, kAny, &Config::max_in_flight_bytes)},
      {"put_timeout", NumberFrom(0, kAny, &Config::put_timeout)},
      {"hold_time", NumberFrom(0, kAny, &Config::hold_time)},
      {"ordered", Flag(&Config::ordered)},
      {"aggregate_same_key_only", Flag(&Config::aggregate_same_key_only)},
      {"max_attempts", NumberFrom(0, 1'000'000, &Config::max_attempts)},
      {"max_requests_per_shard", NumberFrom(1, 256, &Config::max_requests_per_shard)},
      {"wire_format", SetWire},
      {"MetricsLevel", OneOf({"none", "summary", "detailed"}, &Config::metrics_level)},
      {"MetricsGranularity", OneOf({"global", "stream", "shard"}, &Config::metrics_granularity)},
      {"MetricsNamespace", SetNamespace},
      {"MetricsUploadDelay", NumberFrom(1, 60'000, &Config::metrics_upload_delay)},
      {"CloudwatchEndpoint", Text(&Config::cloudwatch_endpoint)},
      {"CloudwatchPort", NumberFrom(1, 65'535, &Config::cloudwatch_port)},
      {"AdditionalMetricDims", SetDimensions},
  };
  return known;
}

constexpr std::string_view kIgnored[] = {"EnableCoreDumps",
                                         "LogLevel",
                                         "MinConnections",
                                         "ThreadingModel",
                                         "ThreadPoolSize",
                                         "StsEndpoint",
                                         "StsPort",
                                         "NativeExecutable",
                                         "TempDirectory",
                                         "CredentialsProvider",
                                         "MetricsCredentialsProvider",
                                         "CredentialsRefreshDelay",
                                         "UserRecordTimeoutInMillis",
                                         "EnableOldestFutureTracker",
                                         "ReturnUserRecordOnFailure",
                                         "EnableDaemonHealthCheck",
                                         "DaemonHealthCheckTimeoutMs",
                                         "GlueSchemaRegistryConfiguration",
                                         "GlueSchemaRegistryPropertiesFilePath",
                                         "GlueSchemaRegistryCredentialsProvider"};

Status Set(const Property& property, LoadedConfig& loaded) {
  const auto& known = KnownProperties();
  const auto at = std::ranges::find(known, property.name, &KnownProperty::name);
  if (at != known.end()) return at->set(loaded.config, property);
  const bool is_ignored = std::ranges::find(kIgnored, property.name) != std::end(kIgnored);
  (is_ignored ? loaded.ignored : loaded.unknown).push_back(property.name);
  return {};
}

nanoseconds Bounded(milliseconds time) {
  return std::min(time, std::chrono::floor<milliseconds>(nanoseconds::max()));
}

// Like the library: a fifth of the time that a record may wait in all, and at most 50 ms.
nanoseconds LingerFor(milliseconds buffered) {
  constexpr milliseconds kLongest{50};
  return std::min(buffered, 5 * kLongest) / 5;
}

// A retried record waits for batching for half of the time that a new record waits, as in the
// Kinesis Producer Library ("KPL Retries and Rate Limiting").
nanoseconds HalfOf(milliseconds buffered) { return Bounded(buffered) / 2; }

// The even rate and the burst together are less than `whole`, so that no interval of a second has
// more than `whole`, wherever the interval begins. The rest is for records that arrive less evenly
// than they were sent.
Quota EvenFlow(std::int64_t whole, std::int64_t percent) {
  constexpr std::int64_t kBurstPercent = 2;
  const auto part = [whole](std::int64_t share) {
    return std::max<std::int64_t>(whole * share / 100, 1);
  };
  return PerSecond(part(percent)).Burst(part(kBurstPercent));
}

AggregatorOptions::Mode ModeOf(const ProducerConfig& config) {
  using Mode = AggregatorOptions::Mode;
  if (!config.aggregation_enabled) return Mode::kSeparately;
  return config.aggregate_same_key_only ? Mode::kByPartitionKey : Mode::kByShard;
}

std::size_t AsSize(std::int64_t number) { return static_cast<std::size_t>(number); }

}  // namespace

PipelineOptions ProducerConfig::Pipeline() const {
  const std::int64_t percent = std::min(rate_limit_percent, kMaxPercent);
  const auto rate = [percent](std::int64_t configured, std::int64_t whole, std::int64_t flow) {
    if (configured > 0) return PerSecond(configured);
    return EvenFlow(std::max<std::int64_t>(whole * percent / 100, 1), flow);
  };
  return {.aggregator = {.mode = ModeOf(*this),
                         .max_count = AsSize(aggregation_max_count),
                         .max_bytes = AsSize(aggregation_max_bytes)},
          .limiter = {.records = rate(shard_records_per_second, kShardRecords, kRecordFlow),
                      .bytes = rate(shard_bytes_per_second, kShardBytes, kByteFlow)},
          .collector = {.max_count = AsSize(collection_max_count),
                        .max_bytes = AsSize(collection_max_bytes),
                        .linger = LingerFor(record_max_buffered_time)},
          .retry = {.fail_if_throttled = fail_if_throttled,
                    .max_attempts = static_cast<std::uint32_t>(max_attempts),
                    .hold_time = Bounded(hold_time)},
          .window = {.max_requests = AsSize(max_connections),
                     .max_bytes = AsSize(max_in_flight_bytes),
                     .max_shard_requests = AsSize(max_requests_per_shard)},
          .retry_linger = HalfOf(record_max_buffered_time),
          .ordered = ordered};
}

Result<LoadedConfig> ParseProperties(std::string_view text, const ProducerConfig& defaults) {
  LoadedConfig loaded{.config = defaults, .ignored = {}};
  WEIR_ASSIGN_OR_RETURN(const std::vector<Property> properties, ReadProperties(text));
  for (const Property& property : properties) WEIR_RETURN_IF_ERROR(Set(property, loaded));
  return loaded;
}

}  // namespace weir::kinesis
