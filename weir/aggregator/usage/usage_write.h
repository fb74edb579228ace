// The update of one usage item: it counts each change once, however often the change is delivered.
// Mechanism and proof: docs/design/aggregator.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "weir/aggregator/usage/usage_group.h"
#include "weir/base/result.h"
#include "weir/dynamodb/table.h"

namespace weir::dynamo {

/// The number of limits that one update counts: DynamoDB refuses an expression of more than 4 KB.
/// A change of more limits is counted alone.
inline constexpr std::size_t kMaxLimitsInUpdate = 100;

/// The state of an item before an update, and how the update counts.
struct UsageTerms {
  /// The latest image of the item; nothing if the item is absent or not known.
  std::optional<Item> seen{};
  /// The service has refused an update for good, perhaps because the item has no space: all limits
  /// count as kOtherLimits, and if the item is large, some of its counters are added to that one.
  bool is_full = false;
};

struct UsagePlan {
  Write write;
  /// The group has changes that neither the item nor this update has counted. PlanUsage must be
  /// called again after the update.
  bool is_part = false;
};

/// Plans the update that counts the changes of the group that the item has not counted. If the
/// update is wrong because the image is out of date, the conditions of the update fail, and the
/// failure returns the current image. Returns nothing if the image shows that all changes are
/// counted. Without an image, the update of an item that is full fails in any case, and so returns
/// the image that shows which counters the item has. kDataLoss if the item has a watermark or a
/// remainder that no aggregator writes.
///
/// The update may be repeated: it changes the item at most once.
[[nodiscard]] Result<std::optional<UsagePlan>> PlanUsage(const UsageGroup& group,
                                                         const UsageTerms& terms,
                                                         std::int64_t retention_days);

/// Returns the attribute with the watermark of this shard of the bucket.
std::string WatermarkAttribute(std::uint32_t shard);
inline constexpr std::string_view kUsageRemainders = "w_rem";

}  // namespace weir::dynamo
