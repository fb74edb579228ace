#include "weir/zae_table/records/usage_gap.h"

#include <fmt/format.h>

#include <utility>

#include "weir/codec/iso_time.h"
#include "weir/dynamodb/done_chain.h"
#include "weir/dynamodb/paging.h"
#include "weir/zae_table/records/record_ttl.h"

namespace weir::dynamo {
namespace {

constexpr std::string_view kGapPartition = "_/SYSTEM#";
constexpr std::string_view kGapSort = "#USAGE_GAP#";

}  // namespace

Write GapWrite(const UsageGap& gap, std::int64_t retention_days) {
  Write write{.kind = Write::Kind::kPut, .key = {}, .item = {}, .expression = {}};
  write.item =
      ToItem({std::string(kGapPartition), fmt::format("{}{}#{}#{}", kGapSort, FormatIso(gap.until),
                                                      gap.stream_shard, gap.position)});
  write.item.emplace("stream_shard", Of(gap.stream_shard));
  write.item.emplace("position", Of(gap.position));
  write.item.emplace("gap_from", Of(FormatIso(gap.from)));
  write.item.emplace("gap_until", Of(FormatIso(gap.until)));
  write.item.emplace("ttl", Of(TtlAfter(gap.until, retention_days)));
  return write;
}

std::optional<UsageGap> ReadGap(const Item& item) {
  const std::string* shard = GetText(item, "stream_shard");
  const std::string* position = GetText(item, "position");
  const std::string* from = GetText(item, "gap_from");
  const std::string* until = GetText(item, "gap_until");
  if (shard == nullptr || position == nullptr || from == nullptr || until == nullptr) return {};
  const auto begin = ParseIso(*from);
  const auto end = ParseIso(*until);
  if (!begin || !end) return std::nullopt;
  return UsageGap{*shard, *position, *begin, *end};
}

void ListGaps(Table& table, UnixMillis from, UnixMillis until, std::size_t max_gaps,
              Deadline deadline, Done<UsageGaps> done) {
  PagedQuery<UsageGap> query;
  query.request.partition = kGapPartition;
  query.request.sort_prefix = kGapSort;
  query.request.sort_from = fmt::format("{}{}", kGapSort, FormatIso(from));
  query.limit = max_gaps;
  query.read = [until](const Item& item) -> Result<std::optional<UsageGap>> {
    auto gap = ReadGap(item);
    if (gap && gap->from > until) gap.reset();
    return gap;
  };
  query.cursor = [](const UsageGap& last) { return FormatIso(last.until); };
  auto report = [](Page<UsageGap> page, Done<UsageGaps> next) {
    next(UsageGaps{.gaps = std::move(page.items), .has_more = !page.next.empty()});
  };
  ReadPage(table, std::move(query), deadline, Then<Page<UsageGap>>(std::move(done), report));
}

}  // namespace weir::dynamo
