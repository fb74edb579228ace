#include "weir/model/limit.h"

#include <fmt/format.h>

#include <algorithm>

#include "weir/model/decimal.h"
#include "weir/model/identifier.h"
#include "weir/model/quota_text.h"
#include "weir/model/quoted.h"

namespace weir {
namespace {

tl::unexpected<Error> InvalidLimit(std::string message) {
  return Fail(Code::kInvalidArgument, std::move(message));
}

std::string_view TrimSpaces(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  const std::size_t end = text.find_last_not_of(" \t") + 1;
  return text.substr(begin, end > begin ? end - begin : 0);
}

Status CheckCount(std::size_t count) {
  if (count >= 1 && count <= kMaxLimits) return {};
  return InvalidLimit(fmt::format("{} limits on one bucket; expected 1 to {}", count, kMaxLimits));
}

}  // namespace

Result<Limit> ParseLimit(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  WEIR_RETURN_IF_ERROR(CheckLimitName(name));
  if (colon == std::string_view::npos) {
    return InvalidLimit(
        fmt::format("limit '{0}' has no rate; expected '{0}:1000' or "
                    "'{0}:1000/min:1500'",
                    name));
  }
  auto terms = ParseTerms(text.substr(colon + 1));
  if (!terms) return InvalidLimit(fmt::format("limit '{}': {}", name, terms.error().message));
  return Limit{.name = std::string(name), .quota = terms->quota, .allowance = terms->allowance};
}

Result<std::vector<Limit>> ParseLimits(std::string_view text) {
  if (TrimSpaces(text).empty()) {
    return InvalidLimit("no limits; expected a list such as 'rpm:1000,tpm:10000/min:15000'");
  }
  WEIR_RETURN_IF_ERROR(CheckCount(1 + static_cast<std::size_t>(std::ranges::count(text, ','))));
  std::vector<Limit> limits;
  while (true) {
    const std::size_t comma = text.find(',');
    WEIR_ASSIGN_OR_RETURN(Limit limit, ParseLimit(TrimSpaces(text.substr(0, comma))));
    limits.push_back(std::move(limit));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  WEIR_RETURN_IF_ERROR(Validate(limits));
  return limits;
}

std::string FormatLimit(const Limit& limit) {
  std::string text = fmt::format("{}:{}", limit.name, FormatQuota(limit.quota));
  if (limit.allowance != milliseconds(0)) text += "~" + FormatAllowance(limit.allowance);
  return text;
}

Status Validate(const std::vector<Limit>& limits) {
  WEIR_RETURN_IF_ERROR(CheckCount(limits.size()));
  for (auto limit = limits.begin(); limit != limits.end(); ++limit) {
    WEIR_RETURN_IF_ERROR(CheckLimitName(limit->name));
    // In a limit that blocks, only the period can be wrong.
    const auto quota = Validate(Blocks(*limit) ? Quota{1, 1, limit->quota.period} : limit->quota);
    if (!quota)
      return InvalidLimit(fmt::format("limit '{}': {}", limit->name, quota.error().message));
    const auto allowance = CheckAllowance(limit->allowance);
    if (!allowance) {
      return InvalidLimit(fmt::format("limit '{}': {}", limit->name, allowance.error().message));
    }
    if (std::ranges::find(limits.begin(), limit, limit->name, &Limit::name) != limit) {
      return InvalidLimit(
          fmt::format("limit '{}' appears twice; expected each name once", limit->name));
    }
  }
  return {};
}

Result<std::int64_t> ParseTokens(std::string_view text) {
  const auto value = ParseThousandths(text);
  if (value) return *value;
  return InvalidLimit(
      fmt::format("{} {}; expected tokens with up to three decimals, such as 1000 "
                  "or 0.125",
                  Quoted(text), Describe(value.error())));
}

std::string FormatTokens(std::int64_t millitokens) { return FormatThousandths(millitokens); }

}  // namespace weir
