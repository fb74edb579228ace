#include "weir/zae_table/migration/table_contents.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "weir/model/quoted.h"
#include "weir/zae_table/bucket/bucket_image.h"
#include "weir/zae_table/config/config_item.h"
#include "weir/zae_table/config/config_listing.h"
#include "weir/zae_table/config/entity_item.h"
#include "weir/zae_table/keys.h"
#include "weir/zae_table/migration/legacy_limit.h"

namespace weir::dynamo {
namespace {

constexpr std::uint64_t kContentsPage = 1000;
constexpr std::string_view kLegacyBucketSort = "#BUCKET#";

bool HasNoNamespace(std::string_view pk) {
  static constexpr std::array<std::string_view, 6> kKinds = {"ENTITY#", "RESOURCE#", "SYSTEM#",
                                                             "PARENT#", "AUDIT#",    "BUCKET#"};
  return std::ranges::any_of(kKinds, [&](std::string_view kind) { return pk.starts_with(kind); });
}

// Parses the item as a listing does. Items of kinds that no listing contains are not parsed.
Status ReadAsListed(const Keys& keys, const TableKey& key, const Item& item) {
  if (const auto level = LevelAt(keys, key)) {
    WEIR_ASSIGN_OR_RETURN(const auto limits, ReadConfig(*level, item));
    static_cast<void>(limits);
  } else if (key.sk == kEntitySort) {
    WEIR_ASSIGN_OR_RETURN(const auto entity, ReadEntity(item));
    static_cast<void>(entity);
  } else if (key.sk == kBucketSort && ParseBucketPartition(key.pk)) {
    WEIR_ASSIGN_OR_RETURN(const auto image, ReadImage(item));
    static_cast<void>(image);
  }
  return {};
}

// One call of ReadContents. Pending requests own it.
struct ContentsCall : std::enable_shared_from_this<ContentsCall> {
  ContentsCall(Table& of_table, std::uint64_t limit, Deadline until, Done<TableContents> on_done)
      : table(of_table), max_items(limit), deadline(until), done(std::move(on_done)) {}

  Table& table;
  const std::uint64_t max_items;
  const Deadline deadline;
  Done<TableContents> done;
  TableContents contents{};

  void ReadPage(std::optional<Item> start_after) {
    const std::uint64_t remaining = max_items - contents.scanned;
    if (remaining == 0) return EndIncomplete();
    table.Scan({.limit = std::min(remaining, kContentsPage), .start_after = std::move(start_after)},
               deadline, [self = shared_from_this()](Result<QueryResponse> page) {
                 if (!page) return self->done(Fail(std::move(page.error())));
                 for (const Item& item : page->items) AddTo(self->contents, item);
                 if (!page->last_key) return self->done(std::move(self->contents));
                 self->ReadPage(std::move(page->last_key));
               });
  }

  void EndIncomplete() {
    contents.complete = false;
    done(std::move(contents));
  }
};

}  // namespace

void AddTo(TableContents& contents, const Item& item) {
  ++contents.scanned;
  const TableKey key = KeyOf(item);
  if (HasNoNamespace(key.pk)) {
    ++contents.no_namespace;
    return;
  }
  if (key.sk.starts_with(kLegacyLimitSort)) {
    ++(ParseLegacyKey(key) ? contents.legacy_limits : contents.unread_limits);
  }
  if (key.sk.starts_with(kLegacyBucketSort)) ++contents.legacy_buckets;
  const std::string ns = key.pk.substr(0, key.pk.find('/'));
  const Status read = ReadAsListed(Keys(ns), key, item);
  if (read) return;
  contents.unreadable.Add(fmt::format("namespace {}: {}", Printable(ns), read.error().message));
}

void ReadContents(Table& table, std::uint64_t max_items, Deadline deadline,
                  Done<TableContents> done) {
  std::make_shared<ContentsCall>(table, max_items, deadline, std::move(done))
      ->ReadPage(std::nullopt);
}

}  // namespace weir::dynamo
