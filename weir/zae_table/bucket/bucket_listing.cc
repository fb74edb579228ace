#include "weir/zae_table/bucket/bucket_listing.h"

#include <fmt/format.h>

#include <utility>

#include "weir/zae_table/bucket/bucket_image.h"

namespace weir::dynamo {
namespace {

// Returns the keys of the items of the buckets that are in the index.
std::vector<TableKey> BucketKeys(const Keys& keys, const std::vector<Item>& index_items) {
  std::vector<TableKey> buckets;
  for (const Item& item : index_items) {
    const auto bucket = ParseBucketPartition(KeyOf(item).pk);
    if (bucket) buckets.push_back(keys.Bucket(*bucket));
  }
  return buckets;
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
                fmt::format("page cursor '{}', limit {}: use an empty cursor or the one of the "
                            "previous page, and a limit of at least 1",
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

void ListBuckets(Table& table, const Keys& keys, const BucketFilter& filter,
                 const PageRequest& page, Deadline deadline, Done<Page<BucketRecord>> done) {
  QueryRequest query = QueryOf(keys, filter);
  auto after = ReadCursor(query, page);
  if (!after) return done(Fail(std::move(after.error())));
  query.start_after = std::move(*after);
  query.limit = page.limit;
  table.Query(
      query, deadline, [&table, keys, deadline, done = std::move(done)](auto found) mutable {
        if (!found) return done(Fail(std::move(found.error())));
        // Indexes lag, and some contain only keys, so the items are read from the table.
        table.BatchGet(
            BucketKeys(keys, found->items), deadline,
            [next = FormatCursor(found->last_key), done = std::move(done)](auto items) mutable {
              if (!items) return done(Fail(std::move(items.error())));
              done(PageOf(*items, std::move(next)));
            });
      });
}

}  // namespace weir::dynamo
