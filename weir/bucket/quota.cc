#include "weir/bucket/quota.h"

#include <fmt/format.h>

namespace weir {
namespace {

Status InRange(const char* field, std::int64_t value, std::int64_t high, const char* unit) {
  if (value >= 1 && value <= high) return {};
  return Fail(Code::kInvalidArgument,
              fmt::format("{} is {} {}, allowed are 1 to {}", field, value, unit, high));
}

}  // namespace

Status Validate(const Quota& quota) {
  WEIR_RETURN_IF_ERROR(InRange("capacity", quota.capacity, kMaxMillitokens, "millitokens"));
  WEIR_RETURN_IF_ERROR(InRange("amount", quota.amount, kMaxMillitokens, "millitokens"));
  return InRange("period", quota.period, kMaxPeriodMillis, "ms");
}

}  // namespace weir
