#include "weir/rate_limiter_py/tokens/token_item.h"

#include <fmt/format.h>

#include "weir/rate_limiter_py/integer_attribute.h"
#include "weir/rate_limiter_py/tables.h"

namespace weir::rate_limiter_py {
namespace {

// Far above any limit, and far from overflow.
constexpr WholeRange kAnyTokens{-1'000'000'000'000'000'000, 1'000'000'000'000'000'000};
// Milliseconds since 1970 up to the year 9999. Present times in other units are outside the range.
constexpr WholeRange kAnyTime{0, 253'402'300'799'999};

struct Field {
  std::string_view attribute;
  std::optional<std::int64_t> TokenImage::* member;
  WholeRange range;
};
constexpr Field kFields[] = {
    {kLastRefill, &TokenImage::last_refill, kAnyTime},
    {kLastToken, &TokenImage::last_token, kAnyTime},
    {kOurRefill, &TokenImage::refill, kAnyTime},
    {kOurLimit, &TokenImage::limit, {1, kMaxAccountTokens}},
    {kOurWindow, &TokenImage::window, {1, kMaxPeriodMillis}},
};

// An invalid part of a token is ignored.
void ReadPart(const dynamo::Item& item, TokenImage& image) {
  const std::int64_t part = dynamo::GetNumber(item, kOurPart).value_or(0);
  const std::int64_t parts = dynamo::GetNumber(item, kOurParts).value_or(1);
  if (part < 0 || part >= parts || parts > kMaxPeriodMillis) return;
  image.part = part;
  image.parts = parts;
}

}  // namespace

Result<std::optional<TokenImage>> ReadImage(const AccountKey& key, const dynamo::Item& item) {
  const std::string row = fmt::format("tokens of {}", Describe(key));
  WEIR_ASSIGN_OR_RETURN(const auto tokens, ReadWhole(item, kTokens, row, kAnyTokens));
  if (!tokens) return std::nullopt;
  TokenImage image{.tokens = *tokens};
  for (const Field& field : kFields) {
    WEIR_ASSIGN_OR_RETURN(image.*field.member, ReadWhole(item, field.attribute, row, field.range));
  }
  ReadPart(item, image);
  if (const std::string* take = dynamo::GetText(item, kOurTake)) image.take = *take;
  return image;
}

Quota QuotaOf(const AccountLimit& limit) {
  return {limit.limit, limit.limit, milliseconds(limit.window).count()};
}

bool KnowsQuota(const TokenImage& image) {
  return image.last_refill && image.refill == image.last_refill && image.limit && image.window;
}

UnixMillis TimeOf(const TokenImage& image) {
  return {image.last_refill.value_or(image.last_token.value_or(0))};
}

std::int64_t OffsetOf(const TokenImage& image, const Quota& quota) {
  return image.last_refill ? 0 : quota.capacity;
}

Meter MeterOf(const TokenImage& image, const Quota& quota) {
  Meter meter{.quota = quota,
              .tokens = image.tokens + OffsetOf(image, quota),
              .remainder_period = quota.period};
  if (!KnowsQuota(image)) return meter;
  meter.quota = {*image.limit, *image.limit, *image.window};
  meter.remainder = image.part;
  meter.remainder_period = image.parts;
  return meter;
}

}  // namespace weir::rate_limiter_py
