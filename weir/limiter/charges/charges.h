// Conversions between the amounts that callers name (limit names and tokens) and the charges that a
// store takes (targets and millitokens).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weir/base/result.h"
#include "weir/limiter/resolution/resolver.h"
#include "weir/model/tokens.h"
#include "weir/store/bucket/bucket_key.h"
#include "weir/store/bucket/charge.h"

namespace weir {

/// One part of a request: amounts of the limits of some buckets. A view; two parts on one bucket
/// have the same target.
struct PartView {
  std::span<const TargetPtr> targets;  ///< at least one; the part's own bucket first
  const Amounts& amounts;
  Instant resolved_at{INT64_MAX};  ///< Charge::resolved_at
  /// Whether an amount over the capacity is refused by the decision instead of being an error.
  bool may_exceed_capacity = false;
};
/// `resolved` and `amounts` must outlive the view.
inline PartView PartOf(const Resolved& resolved, const Amounts& amounts) {
  return {.targets = resolved.targets, .amounts = amounts, .resolved_at = resolved.began};
}

/// Returns one charge for each target that has a limit named by a part on it; limits that block do
/// not count. Amounts of several parts are added up. The first target of a part must have all
/// limits that the part names. Fails with kInvalidArgument if a part has no amounts, if a name is
/// unknown or given twice, or if an amount is negative or more than the capacity of a charged
/// bucket (PartView::may_exceed_capacity); if there are several parts, the message names the part.
/// Also fails if there would be more than kMaxCharges charges. A sum of amounts may be more than
/// the capacity.
[[nodiscard]] Result<std::vector<Charge>> MakeCharges(std::span<const PartView> parts);
[[nodiscard]] Result<std::vector<Charge>> MakeCharges(std::span<const TargetPtr> targets,
                                                      const Amounts& amounts);
[[nodiscard]] Result<std::vector<Charge>> MakeCharges(const Resolved& resolved,
                                                      const Amounts& amounts);
/// Like MakeCharges, but for an adjust: amounts and their sums are signed and bounded by
/// kMaxMillitokens instead of the capacity. Charges that change nothing are left out.
[[nodiscard]] Result<std::vector<Charge>> MakeSignedCharges(std::span<const PartView> parts);

/// Returns whether a charge is more than the capacity of its bucket, so that the request can never
/// be admitted.
bool IsOverCapacity(std::span<const Charge> charges);

/// Returns a charge of 0 tokens for each target that blocks a named limit and has no charge in
/// `charges`. A lease holds these charges, so that its adjusts may name the limits that block.
std::vector<Charge> MakeUncharged(std::span<const PartView> parts, std::span<const Charge> charges);

/// Returns whether the target has one of the named limits, including those that block.
bool HasAnyOf(const Target& target, const Amounts& amounts);
/// If there are several parts, sets Error::part, and puts the number and the pair of the part
/// before the message.
Error NamePart(Error error, std::size_t index, std::size_t count, const BucketKey& pair);

/// Returns the buckets in the order of the charges.
std::vector<BucketKey> KeysOf(std::span<const Charge> charges);

}  // namespace weir
