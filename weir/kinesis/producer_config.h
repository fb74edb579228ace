// The settings of a producer: defaults, ranges, and the properties files of the Kinesis Producer
// Library.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/api.h"
#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/kinesis/metrics/metric_dimensions.h"
#include "weir/kinesis/pipeline/pipeline_step.h"
#include "weir/kinesis/wire/wire.h"

namespace weir::kinesis {

/// The comment at each member gives the property that sets it, its unit if it has one, and its
/// range. Names, defaults and ranges are those of the Kinesis Producer Library 1.0.7 (class
/// KinesisProducerConfiguration), except where a comment says otherwise.
struct WEIR_API ProducerConfig {
  bool aggregation_enabled = true;                  ///< AggregationEnabled
  std::int64_t aggregation_max_count = 4294967295;  ///< AggregationMaxCount: 1 to 2^63 - 1
  /// AggregationMaxSize: 64 to 10485760. Here, unlike in the library, the partition key counts,
  /// too, as it does in the service's limit of a record.
  std::int64_t aggregation_max_bytes = 51'200;
  std::int64_t collection_max_count = 500;        ///< CollectionMaxCount: 1 to 500
  std::int64_t collection_max_bytes = 5'242'880;  ///< CollectionMaxSize: 52224 to 2^63 - 1
  milliseconds record_max_buffered_time{100};     ///< RecordMaxBufferedTime: 0 to 2^63 - 1
  milliseconds record_ttl{30'000};                ///< RecordTtl: 100 to 2^63 - 1
  /// MaxUserRecordSize: 64 to 10485760. The partition key counts as for AggregationMaxSize.
  std::int64_t max_user_record_bytes = 1'048'576;
  bool fail_if_throttled = false;  ///< FailIfThrottled
  /// RateLimit, in percent of the rate that a shard takes: 1 to 2^63 - 1; more than 10000 counts as
  /// 10000. Here the default is 100, in the library 150: a producer that sends more than a shard
  /// takes throttles itself. Of this rate 96 % of the records and 97 % of the bytes flow evenly,
  /// and 2 % may leave at once: docs/design/kinesis.md.
  std::int64_t rate_limit_percent = 100;
  /// rate_limit_records_per_sec_per_shard, rate_limit_bytes_per_sec_per_shard (names of aiokpl): 1
  /// to 10^9. 0: as RateLimit says.
  std::int64_t shard_records_per_second = 0;
  std::int64_t shard_bytes_per_second = 0;
  std::string region;                   ///< Region; empty: found as AWS's SDKs do
  std::string endpoint;                 ///< KinesisEndpoint: a host name; empty: the region's
  std::int64_t port = 443;              ///< KinesisPort: 1 to 65535
  bool verify_certificate = true;       ///< VerifyCertificate
  milliseconds connect_timeout{6'000};  ///< ConnectTimeout: 100 to 300000
  milliseconds request_timeout{6'000};  ///< RequestTimeout: 100 to 600000
  std::int64_t max_connections = 24;    ///< MaxConnections: 1 to 256
  std::string proxy_host;               ///< ProxyHost; empty: as weir/aws/http/crt_transport.h says
  std::int64_t proxy_port = 443;        ///< ProxyPort: 1 to 65535
  std::string proxy_user;               ///< ProxyUserName; empty: no authentication
  std::string proxy_password;           ///< ProxyPassword
  std::string ca_folder;  ///< CaCertPath: PEM files, named by hash; empty: the system's authorities
  std::string ca_file;    ///< CaCertFile: PEM
  std::string metrics_level = "detailed";     ///< MetricsLevel: none, summary or detailed
  std::string metrics_granularity = "shard";  ///< MetricsGranularity: global, stream or shard
  // For the upload to CloudWatch, if the program makes a MetricsUploader (metrics_uploader.h).
  std::string metrics_namespace = "KinesisProducerLibrary";  ///< MetricsNamespace: 1 to 255
  milliseconds metrics_upload_delay{60'000};                 ///< MetricsUploadDelay: 1 to 60000
  std::string cloudwatch_endpoint;     ///< CloudwatchEndpoint: a host name; empty: the region's
  std::int64_t cloudwatch_port = 443;  ///< CloudwatchPort: 1 to 65535
  /// AdditionalMetricDims, as ParseAdditionalDimensions reads them. The library cannot read them
  /// from a file.
  std::vector<AdditionalDimension> metric_dimensions;

  // Settings that the library does not have.

  /// wire_format: cbor or json. CBOR by default, since it carries data as they are: a full request
  /// and its response take less time than in JSON (bench: wire), and are a quarter smaller.
  WireFormat wire = WireFormat::kCbor;
  /// max_outstanding_records (name of aiokpl): the maximum number of records without a result.
  /// One shard or stream among others may take only a part of this number, and of
  /// max_outstanding_bytes (buffer_quota.h). 1 to 10^9.
  std::int64_t max_outstanding_records = 100'000;
  /// max_outstanding_bytes: the memory that these records occupy in this process: data twice (as
  /// they came and as they are sent), keys, and kRecordOverhead (buffer_quota.h) for each. 1048576
  /// to 2^63 - 1.
  std::int64_t max_outstanding_bytes = std::int64_t{64} << 20;
  /// max_in_flight_bytes: the maximum size of the data and partition keys of the requests in
  /// flight, in bytes, of all streams together. 1048576 to 2^63 - 1.
  std::int64_t max_in_flight_bytes = std::int64_t{4} << 20;
  /// put_timeout: how long a put waits if there is no space. 0: the put fails at once. 0 to 2^63 -
  /// 1; the largest value means without end.
  milliseconds put_timeout = milliseconds::max();
  /// hold_time: how long a record is retried after AWS credentials could not be fetched or were
  /// rejected, or its stream did not exist (for example, since it is being created). At most until
  /// the record expires. 0: the record fails at once. 0 to 2^63 - 1.
  milliseconds hold_time = milliseconds::max();
  /// ordered: records of one partition key (or explicit hash key) are stored in the order of their
  /// puts. With aggregate_same_key_only, records with one explicit hash key and several partition
  /// keys may change their order.
  bool ordered = false;
  /// aggregate_same_key_only: an aggregate holds records of one partition key only and has this key
  /// itself, for consumers that divide a shard's records by partition key. Without effect if
  /// AggregationEnabled = false.
  bool aggregate_same_key_only = false;
  /// max_attempts: a record that was in this number of requests without being stored fails with the
  /// last error. A request without a response or a connection counts, too; one that was refused for
  /// its content and cut in halves does not. 0: the record is retried until it expires. 0 to
  /// 1000000.
  std::int64_t max_attempts = 0;
  /// max_requests_per_shard: the most requests in flight that hold records of one shard, or records
  /// whose shard is not known. A request holds records of many shards, so this bounds the requests
  /// of a stream whose shards are all busy. 1 to 256.
  std::int64_t max_requests_per_shard = 16;

  /// Returns the options of the pipeline of each stream.
  PipelineOptions Pipeline() const;
};

struct LoadedConfig {
  ProducerConfig config;
  /// Properties of the library that have no meaning here, such as those of its child process, in
  /// the order of the file.
  std::vector<std::string> ignored;
  /// Names that neither the library nor this producer has, in the order of the file. The library
  /// warns of such names, too.
  std::vector<std::string> unknown{};
};

/// Parses a properties file as the library does (java.util.Properties: '=', ':' or a blank between
/// name and value, comments with '#' and '!', a backslash at the end continues a line; of equal
/// names the last one counts). Properties that the file does not have are as in `defaults`.
/// kInvalidArgument, with line and property: a value that cannot be parsed or is out of its range
/// (the message has the range).
[[nodiscard]] WEIR_API Result<LoadedConfig> ParseProperties(std::string_view text,
                                                            const ProducerConfig& defaults = {});

}  // namespace weir::kinesis
