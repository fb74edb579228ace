#include "weir/zae_table/records/usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "weir/codec/iso_time.h"
#include "weir/dynamodb/paging.h"
#include "weir/model/identifier.h"
#include "weir/model/quoted.h"

namespace weir::dynamo {
namespace {

constexpr std::string_view kSortPrefix = "#USAGE#";
constexpr std::string_view kIndexPrefix = "USAGE#";
constexpr std::string_view kOverdrawn = "#od";
// 90 days, the default of zae-limiter's aggregator.
constexpr std::int64_t kKeptSeconds = 90 * 86'400;
constexpr std::size_t kAtOnceFiltered = 100;
constexpr std::array<std::string_view, 2> kOwnNumbers = {"total_events", "ttl"};

TableKey KeyOfSnapshot(const Keys& keys, std::string_view entity, std::string_view resource,
                       std::string_view start) {
  return {keys.EntityPartition(entity), fmt::format("{}{}#{}", kSortPrefix, resource, start)};
}

// A cursor identifies the last snapshot of the previous page by the fields that the filter leaves
// open: `resource start` of one entity, `entity start` of one resource.
std::string CursorOf(const UsageFilter& filter, const UsageSnapshot& last) {
  return fmt::format("{} {}", filter.entity ? last.resource : last.entity, FormatIso(last.start));
}

Result<Item> StartAfter(const Keys& keys, const UsageFilter& filter, const std::string& cursor) {
  const std::size_t space = cursor.find(' ');
  const std::string open = cursor.substr(0, space);
  const std::string start = space == cursor.npos ? "" : cursor.substr(space + 1);
  const bool is_named =
      filter.entity ? CheckResource(open).has_value() : CheckEntityId(open).has_value();
  const bool is_of_this = !filter.entity || !filter.resource || open == *filter.resource;
  if (!is_named || !is_of_this || !ParseIso(start)) {
    return Fail(Code::kInvalidArgument,
                fmt::format("cursor {} is none of this listing; begin with an empty one, go on "
                            "with `next`",
                            Quoted(cursor)));
  }
  if (filter.entity) return ToItem(KeyOfSnapshot(keys, *filter.entity, open, start));
  Item item = ToItem(KeyOfSnapshot(keys, open, *filter.resource, start));
  item.emplace("GSI2PK", Of(keys.OfResource(*filter.resource)));
  item.emplace("GSI2SK", Of(fmt::format("{}{}#{}", kIndexPrefix, start, open)));
  return item;
}

// The update that the aggregator would make.
Write AddWrite(const Keys& keys, const UsageSnapshot& added) {
  const std::string start = FormatIso(added.start);
  const TableKey key = KeyOfSnapshot(keys, added.entity, added.resource, start);
  Write write{.kind = Write::Kind::kUpdate, .key = key, .item = {}, .expression = {}};
  write.expression.Set("entity_id", Of(added.entity));
  write.expression.Set("resource", Of(added.resource));
  write.expression.Set("window", Of(Name(added.window)));
  write.expression.Set("window_start", Of(start));
  write.expression.Set("ttl", Of(WholeSeconds(added.start) + kKeptSeconds));
  write.expression.Set("GSI2PK", Of(keys.OfResource(added.resource)));
  write.expression.Set("GSI2SK", Of(fmt::format("{}{}#{}", kIndexPrefix, start, added.entity)));
  write.expression.Set("GSI4PK", Of(keys.namespace_id()));
  write.expression.Set("GSI4SK", Of(key.pk));
  write.expression.Add("total_events", added.events);
  for (const auto& [limit, used] : added.used) write.expression.Add(limit, used);
  for (const auto& [limit, times] : added.overdrawn) {
    write.expression.Add(limit + std::string(kOverdrawn), times);
  }
  return write;
}

QueryRequest RequestFor(const Keys& keys, const UsageFilter& filter) {
  QueryRequest request;
  request.forward = false;
  if (!filter.entity) {
    request.index = "GSI2";
    request.partition = keys.OfResource(*filter.resource);
    request.sort_prefix = kIndexPrefix;
    return request;
  }
  request.partition = keys.EntityPartition(*filter.entity);
  request.sort_prefix = kSortPrefix;
  if (filter.resource) request.sort_prefix += *filter.resource + "#";
  return request;
}

}  // namespace

std::optional<UsageSnapshot> ReadUsage(const Item& item) {
  const std::string* entity = GetText(item, "entity_id");
  const std::string* resource = GetText(item, "resource");
  const std::string* window = GetText(item, "window");
  const std::string* start = GetText(item, "window_start");
  if (entity == nullptr || resource == nullptr || window == nullptr || start == nullptr) return {};
  const auto kind = UsageWindowNamed(*window);
  const auto at = ParseIso(*start);
  if (!kind || !at) return std::nullopt;
  UsageSnapshot snapshot{.entity = *entity, .resource = *resource, .window = *kind, .start = *at};
  snapshot.events = GetNumber(item, "total_events").value_or(0);
  for (const auto& [name, value] : item) {
    const std::optional<std::int64_t> number = GetNumber(item, name);
    if (!number || std::ranges::find(kOwnNumbers, name) != kOwnNumbers.end()) continue;
    if (name.ends_with(kOverdrawn)) {
      snapshot.overdrawn[name.substr(0, name.size() - kOverdrawn.size())] = *number;
    } else {
      snapshot.used[name] = *number;
    }
  }
  return snapshot;
}

void UsageTable::Add(const UsageSnapshot& added, Deadline deadline, Done<void> done) {
  if (Status valid = Check(added); !valid) return done(std::move(valid));
  table_.Apply(AddWrite(keys_, added), /*repeatable=*/false, deadline,
               [done = std::move(done)](tl::expected<WriteAnswer, WriteFailure> kept) mutable {
                 if (kept) return done({});
                 done(Fail(std::move(kept.error().error)));
               });
}

void UsageTable::List(const UsageFilter& filter, const PageRequest& page, Deadline deadline,
                      Done<Page<UsageSnapshot>> done) {
  if (Status valid = Check(filter); !valid) return done(Fail(std::move(valid.error())));
  PagedQuery<UsageSnapshot> query;
  query.request = RequestFor(keys_, filter);
  if (!page.cursor.empty()) {
    auto start_after = StartAfter(keys_, filter, page.cursor);
    if (!start_after) return done(Fail(std::move(start_after.error())));
    query.request.start_after = std::move(*start_after);
  }
  query.limit = page.limit;
  if (filter.window || filter.from || filter.until) query.least_at_once = kAtOnceFiltered;
  query.read = [filter](const Item& item) -> Result<std::optional<UsageSnapshot>> {
    std::optional<UsageSnapshot> snapshot = ReadUsage(item);
    if (snapshot && !Matches(filter, *snapshot)) snapshot.reset();
    return snapshot;
  };
  query.cursor = [filter](const UsageSnapshot& last) { return CursorOf(filter, last); };
  if (filter.resource && filter.from) {
    // The snapshots on one resource are in descending order of their starts.
    query.ends = [from = *filter.from](const Item& item) {
      const std::optional<UsageSnapshot> snapshot = ReadUsage(item);
      return snapshot && snapshot->start < from;
    };
  }
  ReadPage(table_, std::move(query), deadline, std::move(done));
}

}  // namespace weir::dynamo
