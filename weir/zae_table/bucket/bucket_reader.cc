#include "weir/zae_table/bucket/bucket_reader.h"

#include <algorithm>
#include <utility>

#include "weir/zae_table/bucket/whole_bucket.h"

namespace weir::dynamo {

BucketReader::BucketReader(Table& table, Keys keys, const Clock& clock, milliseconds refusal_age,
                           std::shared_ptr<BucketImageCache> cache)
    : table_(table),
      keys_(std::move(keys)),
      clock_(clock),
      refusal_age_(refusal_age),
      cache_(std::move(cache)) {}

void BucketReader::Read(std::span<const BucketKey> keys, Deadline deadline, Done<Records> done) {
  std::vector<BucketToRead> buckets;
  for (const BucketKey& key : keys) {
    const std::uint32_t known = key.shard == 0 ? cache_->ShardsOf(key) : 1;
    buckets.push_back({.key = key, .shards = std::max<std::uint32_t>(known, 1)});
  }
  const auto learn = [cache = cache_](const BucketImage& image) { cache->Learn(image); };
  ReadBuckets({table_, keys_, learn}, std::move(buckets), deadline, std::move(done));
}

void BucketReader::ReadRecent(std::span<const BucketKey> keys, Deadline deadline,
                              Done<Records> done) {
  if (auto recent = FindRecent(keys)) return done(*std::move(recent));
  const std::vector<BucketKey> list(keys.begin(), keys.end());
  switch (reads_.JoinRead(list, deadline, done)) {
    case SharedReads::Share::kShared:
      return;
    case SharedReads::Share::kAlone:
      return Read(list, deadline, std::move(done));
    case SharedReads::Share::kFirst:
      return Read(list, deadline, [self = shared_from_this(), list](const auto& records) {
        for (SharedReads::Caller& caller : self->reads_.End(list, records)) {
          self->ReadRecent(list, caller.deadline, std::move(caller.done));
        }
      });
  }
}

std::optional<BucketReader::Records> BucketReader::FindRecent(std::span<const BucketKey> keys) {
  Records records;
  for (const BucketKey& key : keys) {
    records.push_back(FindRecent(key));
    if (!records.back()) return std::nullopt;
  }
  return records;
}

// Shard 0 means all shards. Each must be cached, and all images must have the same number of
// shards.
std::optional<BucketRecord> BucketReader::FindRecent(const BucketKey& key) {
  const Instant since = clock_.Now() - refusal_age_;
  const bool is_alone = key.shard != 0;
  std::vector<BucketImage> shards;
  BucketKey shard_key = key;
  do {
    std::optional<BucketImage> image = cache_->FindSince(shard_key, since);
    if (!image) return std::nullopt;
    if (!shards.empty() && image->shards != shards.front().shards) return std::nullopt;
    shards.push_back(*std::move(image));
    ++shard_key.shard;
  } while (!is_alone && shard_key.shard < shards.front().shards);
  return is_alone ? ToRecord(shards.front()) : JoinShards(shards, table_.Now());
}

}  // namespace weir::dynamo
