// Passes the use of buckets from the stripes of a table to snapshots. Mechanism:
// docs/design/usage.md.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "weir/model/usage.h"
#include "weir/store/bucket/bucket_stripe.h"
#include "weir/store/usage/bucket_use.h"

namespace weir {

/// The part of a drain that concerns use. Buckets with at least kMaxHours hours in BucketUse::more,
/// and buckets without an open hour (for example because they are to be removed), always pass their
/// ended hours to `sink`. Of the other buckets, at most `most` do so; the rest wait for a later
/// drain, so that a drain has a bounded cost.
struct UseDrain {
  static constexpr std::size_t kMaxHours = 4;
  UseSink sink{};  ///< if it is not set, no use is passed on
  std::size_t most = 0;

  void ReportEndedHours(BucketEntry& entry);
  void ReportUseOfAbsent(BucketStripe& stripe);
};

using BucketStripes = std::span<const std::unique_ptr<BucketStripe>>;

/// The functions of BucketTable of the same names. They lock one stripe at a time.
void VisitUse(BucketStripes stripes, const UsageFilter& filter, const UseSink& visitor);
void ReportUse(BucketStripes stripes, const UsageFilter& filter);
void EndHours(BucketStripes stripes, const std::string& entity);

}  // namespace weir
