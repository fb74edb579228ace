#include "weir/store/config/usage_store.h"

#include <fmt/format.h>

#include "weir/model/identifier.h"

namespace weir {
namespace {

Status CheckCounters(const UsageCounters& counters) {
  for (const auto& [limit, number] : counters) {
    WEIR_RETURN_IF_ERROR(CheckUsageLimit(limit));
  }
  return {};
}

}  // namespace

Status Check(const UsageFilter& filter) {
  if (!filter.entity && !filter.resource) {
    return Fail(Code::kInvalidArgument, "usage of what? name an entity, a resource, or both");
  }
  if (filter.entity) WEIR_RETURN_IF_ERROR(CheckEntityId(*filter.entity));
  if (filter.resource) WEIR_RETURN_IF_ERROR(CheckResource(*filter.resource));
  return {};
}

Status Check(const UsageSnapshot& added) {
  WEIR_RETURN_IF_ERROR(CheckEntityId(added.entity));
  WEIR_RETURN_IF_ERROR(CheckResource(added.resource));
  WEIR_RETURN_IF_ERROR(CheckCounters(added.used));
  WEIR_RETURN_IF_ERROR(CheckCounters(added.overdrawn));
  // The years 1970 to 9999, which every store can represent.
  const bool is_in_range = added.start.value >= 0 && added.start.value < 253'402'300'800'000;
  if (is_in_range && StartOf(added.window, added.start) == added.start) return {};
  return Fail(Code::kInvalidArgument,
              fmt::format("usage of {} on {}: no {} window starts at {} ms", added.entity,
                          added.resource, Name(added.window), added.start.value));
}

}  // namespace weir
