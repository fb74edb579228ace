// The dimensions of a metric in CloudWatch: the Kinesis Producer Library's, and what a program
// adds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/kinesis/cloudwatch_wire.h"
#include "weir/kinesis/metric_names.h"

namespace weir::kinesis {

/// A dimension of each metric of this granularity and of those below it: one at kGlobal is on all
/// metrics, one at kStream on those of streams and shards, one at kShard on those of shards.
struct AdditionalDimension {
  std::string name;
  std::string value;
  MetricsGranularity granularity = MetricsGranularity::kGlobal;

  friend bool operator==(const AdditionalDimension&, const AdditionalDimension&) = default;
};

/// "NAME=VALUE:GRANULARITY, ..." as in "Service=checkout:global, Host=i-1:shard"; empty: none. A
/// value has no ','. kInvalidArgument, saying which and why: a part without that form, a name or
/// value that CloudWatch does not accept, one of the library's own names, a name twice, more than
/// CloudWatch allows with the library's three.
[[nodiscard]] Result<std::vector<AdditionalDimension>> ParseAdditionalDimensions(
    std::string_view text);

/// Which node of the library's tree; what does not apply is empty.
struct MetricPlace {
  std::string_view code;
  std::string_view stream;
  std::string_view shard;
};
/// ErrorCode, StreamName and ShardId as far as they apply, and the additional ones.
std::vector<MetricDimension> DimensionsOf(const MetricPlace& place,
                                          const std::vector<AdditionalDimension>& additional);

}  // namespace weir::kinesis
