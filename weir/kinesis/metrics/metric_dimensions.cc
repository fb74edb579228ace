#include "weir/kinesis/metrics/metric_dimensions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace weir::kinesis {
namespace {

constexpr std::string_view kErrorCode = "ErrorCode";
constexpr std::string_view kStreamName = "StreamName";
constexpr std::string_view kShardId = "ShardId";
constexpr std::array kOwnNames = {kErrorCode, kStreamName, kShardId};
constexpr std::size_t kMaxAdditional = kMaxDimensions - kOwnNames.size();

tl::unexpected<Error> BadDimension(std::string_view part, std::string_view why) {
  return Fail(Code::kInvalidArgument, fmt::format("dimension '{}': {}", part, why));
}

std::string_view WithoutBlanks(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

/// Removes the text up to the next comma, and the comma. Returns the text without blanks around it.
std::string_view TakePart(std::string_view& text) {
  const std::size_t end = std::min(text.find(','), text.size());
  const std::string_view part = WithoutBlanks(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

Result<AdditionalDimension> ParseOne(std::string_view part) {
  const std::size_t equals = part.find('=');
  const std::size_t colon = part.rfind(':');
  if (equals == part.npos || colon == part.npos || colon < equals) {
    return BadDimension(part, "give NAME=VALUE:GRANULARITY, as in Host=i-1:global");
  }
  const auto granularity = ParseMetricsGranularity(WithoutBlanks(part.substr(colon + 1)));
  if (!granularity) return BadDimension(part, "give global, stream or shard after the last ':'");
  return AdditionalDimension{
      .name = std::string(WithoutBlanks(part.substr(0, equals))),
      .value = std::string(WithoutBlanks(part.substr(equals + 1, colon - equals - 1))),
      .granularity = *granularity};
}

Status CheckOne(std::string_view part, const AdditionalDimension& dimension,
                const std::vector<AdditionalDimension>& before) {
  if (!IsDimensionName(dimension.name)) {
    return BadDimension(part, "a name has 1 to 255 printable ASCII characters, and no ':' first");
  }
  if (dimension.value.empty() || DimensionValue(dimension.value) != dimension.value) {
    return BadDimension(part, "a value has 1 to 1024 printable ASCII characters");
  }
  if (std::ranges::find(kOwnNames, dimension.name) != kOwnNames.end()) {
    return BadDimension(part, "the producer itself sets this name; give another one");
  }
  if (std::ranges::find(before, dimension.name, &AdditionalDimension::name) != before.end()) {
    return BadDimension(part, "the name is given twice; give it once");
  }
  if (before.size() == kMaxAdditional) {
    return BadDimension(part, fmt::format("give at most {}", kMaxAdditional));
  }
  return {};
}

}  // namespace

Result<std::vector<AdditionalDimension>> ParseAdditionalDimensions(std::string_view text) {
  std::vector<AdditionalDimension> dimensions;
  if (WithoutBlanks(text).empty()) return dimensions;
  for (bool is_last = false; !is_last;) {
    is_last = text.find(',') == text.npos;
    const std::string_view part = TakePart(text);
    WEIR_ASSIGN_OR_RETURN(AdditionalDimension dimension, ParseOne(part));
    WEIR_RETURN_IF_ERROR(CheckOne(part, dimension, dimensions));
    dimensions.push_back(std::move(dimension));
  }
  return dimensions;
}

std::vector<MetricDimension> DimensionsOf(const MetricNode& place,
                                          const std::vector<AdditionalDimension>& additional) {
  std::vector<MetricDimension> dimensions;
  const auto add = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) dimensions.push_back({std::string(name), std::string(value)});
  };
  const auto add_additional = [&](MetricsGranularity granularity) {
    for (const AdditionalDimension& dimension : additional) {
      if (dimension.granularity == granularity) add(dimension.name, dimension.value);
    }
  };
  add_additional(MetricsGranularity::kGlobal);
  add(kErrorCode, place.code);
  if (place.stream.empty()) return dimensions;
  add(kStreamName, place.stream);
  add_additional(MetricsGranularity::kStream);
  if (place.shard.empty()) return dimensions;
  add(kShardId, place.shard);
  add_additional(MetricsGranularity::kShard);
  return dimensions;
}

}  // namespace weir::kinesis
