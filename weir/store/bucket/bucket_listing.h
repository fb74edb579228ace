// Lists the buckets of a table in pages.
#pragma once

#include <memory>
#include <span>

#include "weir/base/page.h"
#include "weir/base/result.h"
#include "weir/store/bucket/bucket_store.h"
#include "weir/store/bucket/bucket_stripe.h"

namespace weir {

using Stripes = std::span<const std::unique_ptr<BucketStripe>>;

/// Lists buckets, as BucketStore::List: the stripes in their order, each in the order of its keys.
/// Locks one stripe at a time.
[[nodiscard]] Result<Page<BucketRecord>> ListBuckets(Stripes stripes, const BucketFilter& filter,
                                                     const PageRequest& request);

}  // namespace weir
