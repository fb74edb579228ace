#include "weir/dynamodb/streams/sequence_number.h"

#include <algorithm>

namespace weir::dynamo {
namespace {

constexpr std::size_t kFewestDigits = 21;
constexpr std::size_t kMaxDigits = 40;

}  // namespace

std::optional<std::string> NormalizeSequenceNumber(std::string_view text) {
  const bool is_number = !text.empty() && text.size() <= kMaxDigits &&
                         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  if (!is_number) return std::nullopt;
  text.remove_prefix(std::min(text.find_first_not_of('0'), text.size() - 1));
  return std::string(text);
}

bool IsEarlier(std::string_view a, std::string_view b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

std::string PadSequenceNumber(std::string_view normalized) {
  const std::size_t zeros = kFewestDigits - std::min(kFewestDigits, normalized.size());
  return std::string(zeros, '0').append(normalized);
}

}  // namespace weir::dynamo
