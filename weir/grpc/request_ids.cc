#include "weir/grpc/request_ids.h"

#include <algorithm>
#include <cstddef>

namespace weir::grpc {
namespace {

constexpr std::size_t kLongestRequestId = 128;
constexpr std::size_t kTraceIdSize = 32;
constexpr std::size_t kParentIdSize = 16;
constexpr std::size_t kVersion00Size = 55;

bool IsHex(std::string_view text) {
  return std::ranges::all_of(text, [](char letter) {
    return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f');
  });
}

bool IsZero(std::string_view text) { return text.find_first_not_of('0') == std::string_view::npos; }

bool IsRequestId(std::string_view text) {
  return !text.empty() && text.size() <= kLongestRequestId &&
         std::ranges::all_of(text, [](char letter) { return letter > ' ' && letter < 0x7f; });
}

}  // namespace

std::string_view TraceIdOf(std::string_view traceparent) {
  if (traceparent.size() < kVersion00Size) return {};
  const std::string_view version = traceparent.substr(0, 2);
  const std::string_view trace = traceparent.substr(3, kTraceIdSize);
  const std::string_view parent = traceparent.substr(36, kParentIdSize);
  const std::string_view flags = traceparent.substr(53, 2);
  for (const std::size_t dash : {2U, 35U, 52U}) {
    if (traceparent[dash] != '-') return {};
  }
  for (const std::string_view part : {version, trace, parent, flags}) {
    if (!IsHex(part)) return {};
  }
  const bool is_longer = traceparent.size() > kVersion00Size;
  if (version == "ff" || IsZero(trace) || IsZero(parent)) return {};
  if (is_longer && (version == "00" || traceparent[kVersion00Size] != '-')) return {};
  return trace;
}

bool RequestIds::Take(std::string_view name, std::string_view value) {
  if (name == "x-request-id") {
    if (request.empty() && IsRequestId(value)) request = value;
    return true;
  }
  if (name != "traceparent") return false;
  if (trace.empty()) trace = TraceIdOf(value);
  return true;
}

}  // namespace weir::grpc
