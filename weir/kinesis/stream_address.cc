#include "weir/kinesis/stream_address.h"

#include <absl/strings/ascii.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace weir::kinesis {
namespace {

constexpr std::size_t kLongestName = 128;
constexpr std::string_view kResource = "stream/";

bool IsName(std::string_view text) {
  const auto is_allowed = [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '-';
  };
  return !text.empty() && text.size() <= kLongestName && std::ranges::all_of(text, is_allowed);
}

/// Splits an ARN into: arn, partition, service, region, account, resource.
std::array<std::string_view, 6> PartsOf(std::string_view arn) {
  std::array<std::string_view, 6> parts;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    const std::size_t end = std::min(arn.find(':'), arn.size());
    parts[i] = arn.substr(0, end);
    arn.remove_prefix(std::min(end + 1, arn.size()));
  }
  parts.back() = arn;
  return parts;
}

bool IsArn(std::string_view text) {
  const auto [arn, partition, service, region, account, resource] = PartsOf(text);
  const auto digit = [](unsigned char c) { return absl::ascii_isdigit(c); };
  return arn == "arn" && partition.starts_with("aws") && service == "kinesis" && !region.empty() &&
         account.size() == 12 && std::ranges::all_of(account, digit) &&
         resource.starts_with(kResource) && IsName(resource.substr(kResource.size()));
}

}  // namespace

Result<StreamAddress> ParseStreamAddress(std::string_view text) {
  if (IsName(text)) return StreamAddress{.name = std::string(text), .arn = {}};
  if (IsArn(text)) return StreamAddress{.name = {}, .arn = std::string(text)};
  return Fail(
      Code::kInvalidArgument,
      fmt::format("'{}' is not a stream: give a name of 1 to 128 letters, digits, '_', '.' and "
                  "'-', or arn:aws:kinesis:REGION:ACCOUNT:stream/NAME",
                  text));
}

std::string RegionOf(const StreamAddress& stream) { return std::string(PartsOf(stream.arn)[3]); }

}  // namespace weir::kinesis
