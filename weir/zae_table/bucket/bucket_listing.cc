// The reads of DynamoBucketStore: buckets by key, and lists of buckets.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weir/zae_table/actor/bucket_driver.h"
#include "weir/zae_table/bucket/bucket_store.h"
#include "weir/zae_table/bucket/whole_bucket.h"

namespace weir::dynamo {
namespace {

std::vector<TableKey> BucketKeys(const Keys& keys, std::span<const BucketKey> buckets) {
  std::vector<TableKey> list;
  for (const BucketKey& bucket : buckets) list.push_back(keys.Bucket(bucket));
  return list;
}

Result<std::optional<BucketRecord>> RecordOf(const std::optional<Item>& item) {
  if (!item) return std::optional<BucketRecord>();
  WEIR_ASSIGN_OR_RETURN(const BucketImage image, ReadImage(*item));
  return std::optional(ToRecord(image));
}

// An item that cannot be read is reported as such, and does not fail the page.
Page<BucketRecord> PageOf(const std::vector<std::optional<Item>>& items, std::string next) {
  Page<BucketRecord> page{.items = {}, .next = std::move(next)};
  for (const std::optional<Item>& item : items) {
    auto record = RecordOf(item);
    if (!record) {
      page.unreadable.push_back(std::move(record.error().message));
    } else if (*record) {
      page.items.push_back(**std::move(record));
    }
  }
  return page;
}

QueryRequest QueryOf(const Keys& keys, const BucketFilter& filter) {
  if (filter.entity) {
    const std::string prefix =
        filter.resource ? fmt::format("BUCKET#{}#", *filter.resource) : std::string("BUCKET#");
    return {.index = "GSI3", .partition = keys.BucketsOf(*filter.entity), .sort_prefix = prefix};
  }
  if (filter.resource) {
    return {
        .index = "GSI2", .partition = keys.OfResource(*filter.resource), .sort_prefix = "BUCKET#"};
  }
  return {.index = "GSI4", .partition = keys.namespace_id(), .sort_prefix = "BUCKET#"};
}

// Parses a cursor: the last key of the previous page, in the index. A cursor of another partition
// belongs to another list.
Result<std::optional<Item>> ReadCursor(const QueryRequest& query, const PageRequest& page) {
  const auto refuse = [&] {
    return Fail(Code::kInvalidArgument,
                fmt::format("page cursor '{}', limit {}: begin with an empty cursor, ask for at "
                            "least 1",
                            page.cursor, page.limit));
  };
  if (page.limit == 0) return refuse();
  if (page.cursor.empty()) return std::optional<Item>();
  auto read = ReadItem(page.cursor, "after");
  if (!read || !*read) return refuse();
  const std::string* partition = GetText(**read, query.index + "PK");
  if (partition == nullptr || *partition != query.partition) return refuse();
  return std::move(*read);
}

std::string FormatCursor(const std::optional<Item>& last) {
  if (!last) return "";
  std::string cursor = R"({"after":)";
  AppendJson(cursor, *last);
  cursor += '}';
  return cursor;
}

}  // namespace

void DynamoBucketStore::Read(std::span<const BucketKey> keys, Deadline deadline,
                             Done<std::vector<std::optional<BucketRecord>>> done) {
  std::vector<BucketToRead> buckets;
  for (const BucketKey& key : keys) {
    const std::uint32_t known = key.shard == 0 ? driver_->ShardsOf(key) : 1;
    buckets.push_back({.key = key, .shards = std::max<std::uint32_t>(known, 1)});
  }
  const auto learn = [driver = driver_](const BucketImage& image) { driver->Learn(image); };
  ReadBuckets({table_, keys_, learn}, std::move(buckets), deadline, std::move(done));
}

void DynamoBucketStore::ReadRecent(std::span<const BucketKey> keys, Deadline deadline,
                                   Done<SharedReads::Records> done) {
  if (auto recent = FindRecent(keys)) return done(*std::move(recent));
  const std::vector<BucketKey> list(keys.begin(), keys.end());
  switch (reads_.Join(list, deadline, done)) {
    case SharedReads::Share::kShared:
      return;
    case SharedReads::Share::kAlone:
      return Read(list, deadline, std::move(done));
    case SharedReads::Share::kFirst:
      return Read(list, deadline, [this, list](const auto& records) { reads_.End(list, records); });
  }
}

std::optional<SharedReads::Records> DynamoBucketStore::FindRecent(std::span<const BucketKey> keys) {
  SharedReads::Records records;
  for (const BucketKey& key : keys) {
    records.push_back(FindRecent(key));
    if (!records.back()) return std::nullopt;
  }
  return records;
}

// Shard 0 means all shards. Each must be cached, and all with the same number of shards.
std::optional<BucketRecord> DynamoBucketStore::FindRecent(const BucketKey& key) {
  const Instant since = scheduler_.clock().Now() - refusal_age_;
  const bool is_alone = key.shard != 0;
  std::vector<BucketImage> shards;
  BucketKey at = key;
  do {
    std::optional<BucketImage> image = driver_->FindSince(at, since);
    if (!image) return std::nullopt;
    if (!shards.empty() && image->shards != shards.front().shards) return std::nullopt;
    shards.push_back(*std::move(image));
    ++at.shard;
  } while (!is_alone && at.shard < shards.front().shards);
  return is_alone ? ToRecord(shards.front()) : JoinShards(shards, Now());
}

void DynamoBucketStore::List(const BucketFilter& filter, const PageRequest& page, Deadline deadline,
                             Done<Page<BucketRecord>> done) {
  QueryRequest query = QueryOf(keys_, filter);
  auto after = ReadCursor(query, page);
  if (!after) return done(Fail(std::move(after.error())));
  query.start_after = std::move(*after);
  query.limit = page.limit;
  table_.Query(query, deadline, [this, deadline, done = std::move(done)](auto answer) mutable {
    if (!answer) return done(Fail(std::move(answer.error())));
    std::vector<BucketKey> keys;
    for (const Item& item : answer->items) {
      if (auto key = ParseBucketPartition(KeyOf(item).pk)) keys.push_back(*std::move(key));
    }
    // Indexes lag, and some contain only keys, so the items are read from the table.
    table_.BatchGet(
        BucketKeys(keys_, keys), deadline,
        [next = FormatCursor(answer->last_key), done = std::move(done)](auto items) mutable {
          if (!items) return done(Fail(std::move(items.error())));
          done(PageOf(*items, std::move(next)));
        });
  });
}

}  // namespace weir::dynamo
