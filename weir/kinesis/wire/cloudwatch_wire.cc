#include "weir/kinesis/wire/cloudwatch_wire.h"

#include <absl/strings/ascii.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weir/codec/json_text.h"

namespace weir::kinesis {
namespace {

constexpr std::size_t kLongestValue = 1'024;
constexpr std::size_t kLongestMetricName = 255;

bool IsPrintable(char letter) { return letter >= ' ' && letter <= '~'; }

bool IsBlankText(std::string_view text) { return text.find_first_not_of(' ') == text.npos; }

}  // namespace

bool IsMetricsNamespace(std::string_view name) {
  const auto is_allowed = [](char letter) {
    constexpr std::string_view kOthers = ".-_/#: ";
    return absl::ascii_isalnum(static_cast<unsigned char>(letter)) ||
           kOthers.find(letter) != kOthers.npos;
  };
  return name.size() <= kLongestMetricName && !IsBlankText(name) && !name.starts_with("AWS/") &&
         name.front() != ':' && std::ranges::all_of(name, is_allowed);
}

std::string DimensionValue(std::string_view text) {
  std::string value(text.substr(0, kLongestValue));
  std::ranges::replace_if(value, [](char letter) { return !IsPrintable(letter); }, '?');
  return value;
}

bool IsDimensionName(std::string_view name) {
  return name.size() <= kLongestMetricName && !IsBlankText(name) && name.front() != ':' &&
         std::ranges::all_of(name, IsPrintable);
}

std::string MetricIdentity(std::string_view name, std::string_view unit,
                           std::span<const MetricDimension> dimensions) {
  std::string text = R"({"MetricName":)";
  AppendJson(text, name);
  text += R"(,"Unit":)";
  AppendJson(text, unit);
  text += R"(,"Dimensions":[)";
  std::string_view separator;
  for (const auto& [dimension, value] : dimensions) {
    const std::string accepted = DimensionValue(value);
    if (IsBlankText(accepted)) continue;
    text.append(std::exchange(separator, ",")).append(R"({"Name":)");
    AppendJson(text, dimension);
    text += R"(,"Value":)";
    AppendJson(text, accepted);
    text += "}";
  }
  return text + "]";
}

// Times in AWS's JSON are seconds since 1970.
std::string MetricDatum(std::string_view identity, UnixMillis at, const Statistic& samples) {
  return fmt::format(
      R"({},"Timestamp":{},"StatisticValues":{{"SampleCount":{},"Sum":{},"Minimum":{},"Maximum":{}}}}})",
      identity, at.value / 1'000, samples.count, samples.sum, samples.min, samples.max);
}

PutMetricDataBody::PutMetricDataBody(std::string_view metrics_namespace) {
  body_ = R"({"Namespace":)";
  AppendJson(body_, metrics_namespace);
  body_ += R"(,"MetricData":[)";
}

void PutMetricDataBody::Add(std::string_view datum) {
  if (!std::exchange(is_empty_, false)) body_ += ",";
  body_ += datum;
}

std::string PutMetricDataBody::Finish() && {
  body_ += "]}";
  return std::move(body_);
}

}  // namespace weir::kinesis
