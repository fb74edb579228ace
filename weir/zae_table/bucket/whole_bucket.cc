#include "weir/zae_table/bucket/whole_bucket.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace weir::dynamo {
namespace {

/// Sums up the shards.
class ShardSum {
 public:
  ShardSum(std::span<const BucketImage> shards, UnixMillis now) : now_(now) {
    whole_.key = shards.front().key;
    whole_.key.shard = 0;
    // Each shard is refilled to `now` by itself: in one bucket, a full shard would earn for an
    // empty one.
    whole_.bucket.time = now;
    for (const BucketImage& shard : shards) count_ = std::max(count_, shard.shards);
    for (const BucketImage& shard : shards) Add(shard);
    whole_.extras = FormatExtras(std::move(extras_));
  }

  const BucketImage& whole() const { return whole_; }

 private:
  void Add(const BucketImage& shard) {
    for (std::size_t i = 0; i < shard.names.size(); ++i) Add(shard, i);
    if (!shard.evicted) return;
    const EvictedLimits before = whole_.evicted.value_or(EvictedLimits{});
    whole_.evicted = EvictedLimits{std::max(before.last_left, shard.evicted->last_left),
                                   std::max(before.left_full, shard.evicted->left_full)};
  }

  // Adds one limit of a shard, as that shard could pay it at `now`.
  void Add(const BucketImage& shard, std::size_t index) {
    const std::size_t at = IndexOf(shard, index);
    Meter part = shard.bucket.meters[index];
    part.tokens = std::min(part.tokens, part.quota.capacity);
    Refill(part, std::max(now_ - shard.bucket.time, milliseconds(0)).count());
    ChangeQuota(part, ShareOf(whole_.stored[at], count_, shard.key.shard));
    Meter& sum = whole_.bucket.meters[at];
    sum.tokens = std::clamp(sum.tokens + part.tokens, -kMaxDebt, sum.quota.capacity);
    if (__builtin_add_overflow(sum.consumed, part.consumed, &sum.consumed)) {
      sum.consumed = part.consumed < 0 ? INT64_MIN : INT64_MAX;
    }
  }

  // The first shard that has a limit determines the quota of that limit.
  std::size_t IndexOf(const BucketImage& shard, std::size_t index) {
    const std::string& name = shard.names[index];
    const auto found = std::ranges::find(whole_.names, name);
    const auto at = static_cast<std::size_t>(found - whole_.names.begin());
    if (found != whole_.names.end()) return at;
    whole_.names.push_back(name);
    whole_.stored.push_back(shard.stored[index]);
    whole_.bucket.meters.push_back({.quota = shard.stored[index]});
    if (shard.IsExtra(name)) extras_.push_back(name);
    return at;
  }

  const UnixMillis now_;
  BucketImage whole_;
  std::uint32_t count_ = 1;
  std::vector<std::string> extras_;
};

class WholeReading : public std::enable_shared_from_this<WholeReading> {
 public:
  using Records = std::vector<std::optional<BucketRecord>>;
  using Items = std::vector<std::optional<Item>>;

  WholeReading(const BucketSource& source, std::vector<BucketToRead> buckets, Deadline deadline)
      : table_(source.table),
        keys_(source.keys),
        learn_(source.learn),
        buckets_(std::move(buckets)),
        deadline_(deadline) {}

  void Start(Done<Records> done) {
    done_ = std::move(done);
    Read();
  }

 private:
  // Reads the known shards of all buckets in one batch; again if the items show more.
  void Read() {
    std::vector<TableKey> all;
    for (const BucketToRead& bucket : buckets_) {
      BucketKey key = bucket.key;
      for (std::uint32_t i = 0; i < bucket.shards; ++i, ++key.shard) {
        all.push_back(keys_.Bucket(key));
      }
    }
    table_.BatchGet(std::move(all), deadline_, [self = shared_from_this()](Result<Items> items) {
      if (!items) return self->done_(Fail(std::move(items.error())));
      Result<bool> is_all = self->MakeRecords(*items);
      if (!is_all) return self->done_(Fail(std::move(is_all.error())));
      *is_all ? self->done_(std::move(self->records_)) : self->Read();
    });
  }

  // Makes the records. Returns false if there are more shards than were read.
  Result<bool> MakeRecords(const Items& items) {
    records_.clear();
    bool is_all = true;
    std::size_t at = 0;
    for (BucketToRead& bucket : buckets_) {
      const bool is_alone = bucket.key.shard != 0;
      WEIR_ASSIGN_OR_RETURN(const auto shards,
                            ImagesOf(std::span(items).subspan(at, bucket.shards), is_alone));
      at += bucket.shards;
      is_all = !GrowTo(bucket, shards) && is_all;
      if (is_alone && !shards.empty()) {
        records_.emplace_back(ToRecord(shards.front()));
      } else {
        records_.push_back(shards.empty() ? std::nullopt
                                          : std::optional(JoinShards(shards, table_.Now())));
      }
    }
    return is_all;
  }

  // Returns the images of the shards that exist.
  Result<std::vector<BucketImage>> ImagesOf(std::span<const std::optional<Item>> items,
                                            bool is_alone) const {
    std::vector<BucketImage> images;
    for (const std::optional<Item>& item : items) {
      if (!item) continue;
      WEIR_ASSIGN_OR_RETURN(BucketImage image, ReadImage(*item));
      learn_(image);
      // A shard beyond its own count of shards is a bucket of its own.
      const bool is_part = is_alone || image.key.shard < image.shards;
      if (is_part) images.push_back(std::move(image));
    }
    return images;
  }

  // Raises `bucket.shards` to the number of shards that the images show. Returns true if it was
  // raised.
  static bool GrowTo(BucketToRead& bucket, const std::vector<BucketImage>& shards) {
    if (bucket.key.shard != 0) return false;
    std::uint32_t most = 2;  // Shard 0 may have been deleted alone: shard 1 is read, too.
    if (!shards.empty()) most = std::ranges::max_element(shards, {}, &BucketImage::shards)->shards;
    const bool grows = most > bucket.shards;
    bucket.shards = std::max(most, bucket.shards);
    return grows;
  }

  Table& table_;
  const Keys keys_;
  const std::function<void(const BucketImage&)> learn_;
  std::vector<BucketToRead> buckets_;
  const Deadline deadline_;
  Done<Records> done_;
  Records records_;
};

}  // namespace

BucketRecord JoinShards(std::span<const BucketImage> shards, UnixMillis now) {
  return shards.size() == 1 && shards.front().shards == 1 ? ToRecord(shards.front())
                                                          : ToRecord(ShardSum(shards, now).whole());
}

void ReadBuckets(const BucketSource& source, std::vector<BucketToRead> buckets, Deadline deadline,
                 Done<std::vector<std::optional<BucketRecord>>> done) {
  std::make_shared<WholeReading>(source, std::move(buckets), deadline)->Start(std::move(done));
}

}  // namespace weir::dynamo
