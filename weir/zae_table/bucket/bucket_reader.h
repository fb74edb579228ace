// Reads whole buckets by their keys, from cached images or from the table.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "weir/base/done.h"
#include "weir/dynamodb/table.h"
#include "weir/runtime/deadline.h"
#include "weir/zae_table/actor/shared_reads.h"
#include "weir/zae_table/bucket/bucket_image_cache.h"
#include "weir/zae_table/keys.h"

namespace weir::dynamo {

/// Reads in flight share its ownership, so it may be released before they end. Thread-safe. `table`
/// and `clock` must outlive it and every read.
class BucketReader : public std::enable_shared_from_this<BucketReader> {
 public:
  using Records = SharedReads::Records;

  /// ReadRecent does not return images that are older than `refusal_age`.
  BucketReader(Table& table, Keys keys, const Clock& clock, milliseconds refusal_age,
               std::shared_ptr<BucketImageCache> cache);

  /// See DynamoBucketStore::Read and ReadRecent.
  void Read(std::span<const BucketKey> keys, Deadline deadline, Done<Records> done);
  void ReadRecent(std::span<const BucketKey> keys, Deadline deadline, Done<Records> done);

 private:
  /// Returns the records from cached images; nothing if an image is missing or too old.
  std::optional<BucketRecord> FindRecent(const BucketKey& key);
  std::optional<Records> FindRecent(std::span<const BucketKey> keys);

  Table& table_;
  const Keys keys_;
  const Clock& clock_;
  const milliseconds refusal_age_;
  const std::shared_ptr<BucketImageCache> cache_;
  SharedReads reads_;
};

}  // namespace weir::dynamo
