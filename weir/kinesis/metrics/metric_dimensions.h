// The dimensions of a metric in CloudWatch: those of the Kinesis Producer Library, and those that a
// program adds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/kinesis/metrics/metric_names.h"
#include "weir/kinesis/wire/cloudwatch_wire.h"

namespace weir::kinesis {

/// A dimension that a program adds to metrics. kGlobal: to all metrics; kStream: to the metrics of
/// streams and shards; kShard: to the metrics of shards.
struct AdditionalDimension {
  std::string name;
  std::string value;
  MetricsGranularity granularity = MetricsGranularity::kGlobal;

  friend bool operator==(const AdditionalDimension&, const AdditionalDimension&) = default;
};

/// Parses "NAME=VALUE:GRANULARITY, ...", for example "Service=checkout:global, Host=i-1:shard";
/// empty: no dimensions. A value cannot contain ','. kInvalidArgument, with the part and the
/// reason: a part of another form, a name or value that CloudWatch does not accept, one of the
/// library's own names, a name twice, more dimensions than CloudWatch allows together with the
/// library's three.
[[nodiscard]] Result<std::vector<AdditionalDimension>> ParseAdditionalDimensions(
    std::string_view text);

/// A node of the library's tree of metrics. Members that do not apply to the node are empty.
struct MetricNode {
  std::string_view code;
  std::string_view stream;
  std::string_view shard;
};
/// Returns ErrorCode, StreamName and ShardId as far as they apply, and the additional dimensions.
std::vector<MetricDimension> DimensionsOf(const MetricNode& place,
                                          const std::vector<AdditionalDimension>& additional);

}  // namespace weir::kinesis
