#include "weir/zae_table/records/usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "weir/codec/iso_time.h"
#include "weir/dynamodb/paging.h"
#include "weir/model/identifier.h"
#include "weir/model/quoted.h"
#include "weir/zae_table/records/usage_gap.h"

namespace weir::dynamo {
namespace {

constexpr std::string_view kSortPrefix = "#USAGE#";
constexpr std::string_view kIndexPrefix = "USAGE#";
constexpr std::size_t kAtOnceFiltered = 100;
constexpr std::string_view kMixedWord = "mixed";

UsageKey UsageKeyOf(const UsageSnapshot& snapshot) {
  return {snapshot.entity, snapshot.resource, snapshot.window, snapshot.start};
}

// A cursor identifies the last snapshot of the previous page. It is `<resource> <start> <window>`
// if the filter names the entity, and `<entity> <start> <window>` if it names only the resource.
std::string CursorOf(const UsageFilter& filter, const UsageSnapshot& last) {
  return fmt::format("{} {} {}", filter.entity ? last.resource : last.entity, FormatIso(last.start),
                     last.mixed ? kMixedWord : Name(last.window));
}

// Removes the text up to the first space, or all of it, and returns it.
std::string CutWord(std::string_view& text) {
  const std::size_t space = std::min(text.find(' '), text.size());
  std::string word(text.substr(0, space));
  text.remove_prefix(std::min(space + 1, text.size()));
  return word;
}

Result<Item> StartAfter(const Keys& keys, const UsageFilter& filter, const std::string& cursor) {
  std::string_view rest = cursor;
  const std::string name = CutWord(rest);
  const auto start = ParseIso(CutWord(rest));
  const bool is_mixed = rest == kMixedWord;
  const auto window = is_mixed ? UsageWindow::kHourly : UsageWindowNamed(rest);
  const bool is_valid_name =
      filter.entity ? CheckResource(name).has_value() : CheckEntityId(name).has_value();
  const bool matches_filter = !filter.entity || !filter.resource || name == *filter.resource;
  if (!is_valid_name || !matches_filter || !start || !window) {
    return Fail(Code::kInvalidArgument,
                fmt::format("cursor {} does not belong to this listing; begin with an empty one, "
                            "continue with `next`",
                            Quoted(cursor)));
  }
  const UsageKey usage = filter.entity ? UsageKey{*filter.entity, name, *window, *start}
                                       : UsageKey{name, *filter.resource, *window, *start};
  Item item = ToItem(KeyOfUsage(keys, usage, is_mixed));
  if (filter.entity) return item;
  item.emplace("GSI2PK", Of(keys.OfResource(*filter.resource)));
  item.emplace("GSI2SK", Of(IndexSortOfUsage(usage, is_mixed)));
  return item;
}

Status CheckCounterNumber(const UsageSnapshot& added) {
  const std::size_t counters = added.used.size() + added.overdrawn.size();
  if (counters <= kMaxAddedCounters) return {};
  return Fail(Code::kInvalidArgument,
              fmt::format("usage of {} on {} has {} counters; at most {} can be added at once",
                          added.entity, added.resource, counters, kMaxAddedCounters));
}

// The update that the aggregator would make.
Write AddWrite(const Keys& keys, const UsageSnapshot& added, UsageOrigin origin) {
  Write write = UsageUpdate(keys, UsageKeyOf(added), kUsageRetentionDays, origin);
  write.expression.Add("total_events", added.events);
  for (const auto& [limit, used] : added.used) write.expression.Add(CounterAttribute(limit), used);
  for (const auto& [limit, times] : added.overdrawn) {
    write.expression.Add(OverdrawnAttribute(limit), times);
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

void UsageTable::Add(const UsageSnapshot& added, Deadline deadline, Done<void> done) {
  if (Status valid = Check(added); !valid) return done(std::move(valid));
  if (Status fits = CheckCounterNumber(added); !fits) return done(std::move(fits));
  AddTo(UsageOrigin::kOwn, added, deadline, std::move(done));
}

void UsageTable::AddTo(UsageOrigin origin, const UsageSnapshot& added, Deadline deadline,
                       Done<void> done) {
  auto applied = [this, origin, added, deadline, done = std::move(done)](
                     tl::expected<WriteResponse, WriteFailure> result) mutable {
    if (result) return done({});
    const bool has_other_origin = result.error().kind == FailureClass::kConditional &&
                                  OriginOf(UsageKeyOf(added), result.error().old_item) != origin;
    if (has_other_origin) return AddTo(UsageOrigin::kMixed, added, deadline, std::move(done));
    done(Fail(std::move(result.error().error)));
  };
  table_.Apply(AddWrite(keys_, added, origin), /*repeatable=*/false, deadline, std::move(applied));
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

void UsageTable::ListUncounted(UnixMillis from, UnixMillis until, Deadline deadline,
                               Done<UncountedTimes> done) {
  constexpr std::size_t kMaxGaps = 1'000;
  ListGaps(table_, from, until, kMaxGaps, deadline,
           [done = std::move(done)](Result<UsageGaps> found) mutable {
             if (!found) return done(Fail(std::move(found.error())));
             UncountedTimes times{.spans = {}, .has_more = found->has_more};
             for (const UsageGap& gap : found->gaps) times.spans.push_back({gap.from, gap.until});
             done(std::move(times));
           });
}

}  // namespace weir::dynamo
