// ParseLimit, ParseLimits and ParseTokens: a result is valid and reads back the same from its
// formatted text, which is at most 6 bytes longer. A list is valid exactly if its parts are.
// Numbers agree with a rewriting of the text without arithmetic.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "fuzz/require.h"
#include "weir/model/limit.h"

namespace weir {
namespace {

void CheckLimit(std::string_view text) {
  const auto limit = ParseLimit(text);
  if (!limit) return RequireRefusal(limit.error());
  Require(Validate({*limit}).has_value(), "a limit that was read is valid");
  const std::string again = FormatLimit(*limit);
  // FormatLimit names the units of the period and the allowance in full: "min", not "m".
  Require(again.size() <= text.size() + 6, "FormatLimit is a short text");
  Require(ParseLimit(again) == *limit, "FormatLimit reads back");
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// Reads a list in a slow and simple way. Returns an empty list for an invalid text.
std::vector<Limit> ListOf(std::string_view text) {
  std::vector<Limit> limits;
  std::set<std::string> names;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const auto limit = ParseLimit(Trimmed(text.substr(begin, end - begin)));
    if (!limit || !names.insert(limit->name).second) return {};
    limits.push_back(*limit);
    begin = end + 1;
  }
  return limits.size() > kMaxLimits ? std::vector<Limit>() : limits;
}

void CheckLimits(std::string_view text) {
  const auto limits = ParseLimits(text);
  Require(limits.value_or(std::vector<Limit>()) == ListOf(text), "a list is the list of its parts");
  if (!limits) return RequireRefusal(limits.error());
  Require(Validate(*limits).has_value(), "limits that were read are valid");
}

/// Returns the text without redundant signs and zeros, or an empty text if it is not a number with
/// up to three decimals.
std::string Rewritten(std::string text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.erase(0, 1);
  const std::size_t point = text.find('.');
  std::string whole = text.substr(0, point);
  std::string places = point == std::string::npos ? "0" : text.substr(point + 1);
  if (whole.empty() || places.empty() || places.size() > 3) return {};
  if ((whole + places).find_first_not_of("0123456789") != std::string::npos) return {};
  whole.erase(0, std::min(whole.find_first_not_of('0'), whole.size() - 1));
  places.erase(places.find_last_not_of('0') + 1);
  const std::string number = whole + (places.empty() ? "" : "." + places);
  return negative && number != "0" ? "-" + number : number;
}

void CheckTokens(std::string_view text) {
  const auto tokens = ParseTokens(text);
  const std::string rewritten = Rewritten(std::string(text));
  if (tokens) {
    Require(FormatTokens(*tokens) == rewritten, "tokens are what the text says");
    Require(ParseTokens(rewritten) == *tokens, "FormatTokens reads back");
    return;
  }
  RequireRefusal(tokens.error());
  // Thousandths in 64 bits can hold any number with 15 digits before the point.
  const std::size_t digits = std::min(rewritten.find('.'), rewritten.size());
  Require(digits == 0 || digits > 15, "a number that fits is read");
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  weir::CheckLimit(text);
  weir::CheckLimits(text);
  weir::CheckTokens(text);
  return 0;
}
