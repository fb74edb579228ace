// Lists of buckets.
#pragma once

#include "weir/base/done.h"
#include "weir/base/page.h"
#include "weir/dynamodb/table.h"
#include "weir/runtime/deadline.h"
#include "weir/store/bucket/bucket_store.h"
#include "weir/zae_table/keys.h"

namespace weir::dynamo {

/// Like BucketStore::List, but lists each shard of a divided bucket by itself. `table` must outlive
/// the call.
void ListBuckets(Table& table, const Keys& keys, const BucketFilter& filter,
                 const PageRequest& page, Deadline deadline, Done<Page<BucketRecord>> done);

}  // namespace weir::dynamo
