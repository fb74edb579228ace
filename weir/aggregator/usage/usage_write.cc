#include "weir/aggregator/usage/usage_write.h"

#include <fmt/compile.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "weir/base/integer_text.h"
#include "weir/bucket/quota.h"
#include "weir/model/quoted.h"
#include "weir/zae_table/keys.h"

namespace weir::dynamo {
namespace {

// Half of the size that DynamoDB allows, so a rough sum shows whether an item is large.
constexpr std::size_t kLargeItem = 200 * 1024;
// The number of counters that an update of a full item removes. They take more space than the
// attributes that the update adds: kOtherLimits, its remainder and one watermark.
constexpr std::size_t kMaxRemoved = 64;

using Millitokens = std::map<std::string, std::int64_t, std::less<>>;  // by limit

__extension__ using WideSum = __int128;

tl::unexpected<Error> DamagedUsage(const UsageGroup& group, std::string_view attribute,
                                   std::string_view value) {
  return Fail(Code::kDataLoss,
              fmt::format("usage of {} on {}: {} is {}, which no aggregator writes; correct it",
                          group.usage.entity, group.usage.resource, attribute, Quoted(value)));
}

// The changes of one source that the item has not counted.
struct NewChanges {
  std::uint32_t shard = 0;
  std::span<const BucketChange* const> changes;
};

Result<NewChanges> ChangesAbove(const UsageGroup& group, const UsageSource& source,
                                const std::optional<Item>& seen) {
  NewChanges above{source.shard, source.changes};
  const std::string name = WatermarkAttribute(source.shard);
  const auto found = seen ? seen->find(name) : Item::const_iterator();
  if (!seen || found == seen->end()) return above;
  const std::string* text = GetText(*seen, name);
  const auto counted = text == nullptr ? std::nullopt : ReadSequence(*text);
  if (!counted || counted->text() != *text) {
    return DamagedUsage(group, name, text == nullptr ? "" : *text);
  }
  const auto first =
      std::ranges::upper_bound(source.changes, *counted, {}, &BucketChange::sequence);
  above.changes = above.changes.subspan(static_cast<std::size_t>(first - source.changes.begin()));
  return above;
}

// Reads "<limit>=<millitokens>;...", with 1 to 999 millitokens for each limit.
std::optional<Millitokens> ReadRemainders(std::string_view text) {
  Millitokens remainders;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(';'), text.size());
    const std::string_view entry = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t mark = entry.find('=');
    if (mark == entry.npos) return std::nullopt;
    const auto remainder = ReadInteger<std::int64_t>(entry.substr(mark + 1));
    if (!remainder || *remainder <= 0 || *remainder >= kMillitokens) return std::nullopt;
    remainders.emplace(entry.substr(0, mark), *remainder);
  }
  return remainders;
}

std::string FormatUsageRemainders(const Millitokens& remainders) {
  std::string text;
  for (const auto& [limit, remainder] : remainders) {
    if (remainder == 0) continue;
    text += fmt::format(FMT_COMPILE("{}{}={}"), text.empty() ? "" : ";", limit, remainder);
  }
  return text;
}

std::size_t SizeOf(const Item& item) {
  std::size_t size = 0;
  for (const auto& [name, value] : item) {
    size += name.size();
    if (const auto* text = std::get_if<std::string>(&value.held)) size += text->size();
    if (const auto* number = std::get_if<Number>(&value.held)) size += number->text.size();
  }
  return size;
}

struct LimitCounter {
  std::string attribute;
  std::int64_t tokens = 0;
};

// Returns the counters whose names are the longest. Limits of a configuration have short names,
// compared with names that programs make, so they rarely lose their counters.
std::vector<LimitCounter> LongestCounters(const Item& item) {
  std::vector<LimitCounter> counters;
  const auto usage = ReadUsage(item);
  if (!usage) return counters;
  for (const auto& [limit, tokens] : usage->used) {
    std::string attribute = CounterAttribute(limit);
    if (limit == kOtherLimits || GetNumber(item, attribute) != tokens) continue;
    counters.push_back({std::move(attribute), tokens});
  }
  std::ranges::sort(counters, std::greater(),
                    [](const LimitCounter& counter) { return counter.attribute.size(); });
  counters.resize(std::min(counters.size(), kMaxRemoved));
  return counters;
}

// Composes one update.
class UsageWriter {
 public:
  UsageWriter(const UsageGroup& group, const UsageTerms& terms, std::int64_t retention_days)
      : group_(group),
        seen_(terms.seen),
        is_full_(terms.is_full),
        write_(UsageUpdate(Keys(std::string(group.namespace_id)), group.usage, retention_days,
                           OriginOf(group.usage, terms.seen))) {}

  // Counts the first changes of the source: all, or as many as one update can count. Because each
  // shard's watermark is that of its last counted change, the next update continues behind it.
  void Count(const NewChanges& source) {
    const BucketChange* last = nullptr;
    is_part_ = is_part_ || (is_full_ && events_ > 0);  // one source: see kMaxRemoved
    for (const BucketChange* change : source.changes) {
      is_part_ = is_part_ || !HasSpaceFor(*change);
      if (is_part_) break;
      for (const auto& [limit, millitokens] : change->deltas) sums_[NameOf(limit)] += millitokens;
      events_ += static_cast<std::int64_t>(change->deltas.size());
      last = change;
    }
    if (last == nullptr) return;
    RequireBelow(WatermarkAttribute(source.shard), source.changes.front()->sequence);
    e().Set(WatermarkAttribute(source.shard), Of(last->sequence.text()));
  }

  Result<UsagePlan> Finish() {
    WEIR_RETURN_IF_ERROR(AddTokens());
    if (is_full_ && !seen_) e().RequireAbsent("PK");
    e().Add("total_events", events_);
    write_.want_new = is_part_;  // the next part is planned from the new image
    return UsagePlan{.write = std::move(write_), .is_part = is_part_};
  }

 private:
  Expression& e() { return write_.expression; }

  std::string_view NameOf(std::string_view limit) const { return is_full_ ? kOtherLimits : limit; }

  bool HasSpaceFor(const BucketChange& change) const {
    const auto added = std::ranges::count_if(change.deltas, [this](const LimitDelta& delta) {
      return !sums_.contains(NameOf(delta.limit));
    });
    return sums_.empty() || sums_.size() + static_cast<std::size_t>(added) <= kMaxLimitsInUpdate;
  }

  void RequireBelow(const std::string& watermark, const SequenceNumber& first) {
    e().Require(fmt::format(FMT_COMPILE("(attribute_not_exists({0}) OR {0} < {1})"),
                            e().Name(watermark), e().Of(Of(first.text()))));
  }

  // Whole tokens are added, whatever the item contains. Other amounts depend on the stored
  // remainders, so the update requires that these are still as they were seen. So does the update
  // of a full item, which may remove remainders.
  Status AddTokens() {
    const bool are_whole = !is_full_ && std::ranges::all_of(sums_, [](const auto& sum) {
      return sum.second % kMillitokens == 0;
    });
    Millitokens remainders;
    if (!are_whole) {
      WEIR_ASSIGN_OR_RETURN(remainders, SeenRemainders());
    }
    if (is_full_ && seen_ && SizeOf(*seen_) >= kLargeItem) MakeSpace(remainders);
    for (const auto& [limit, millitokens] : sums_) {
      std::int64_t& remainder = remainders[std::string(limit)];
      const WideSum total = millitokens + remainder;
      const auto tokens = static_cast<std::int64_t>((total - Mod(total)) / kMillitokens);
      remainder = Mod(total);
      if (tokens != 0) e().Add(CounterAttribute(limit), tokens);
    }
    if (!are_whole) StoreRemainders(remainders);
    return {};
  }

  // Adds counters and all remainders to those of kOtherLimits, and removes them. The sum over all
  // limits stays the same, because the update requires that the counters have not changed.
  void MakeSpace(Millitokens& remainders) {
    WideSum& others = sums_[kOtherLimits];
    for (const auto& [limit, millitokens] : std::exchange(remainders, {})) others += millitokens;
    for (const auto& [attribute, tokens] : LongestCounters(*seen_)) {
      others += WideSum{tokens} * kMillitokens;
      e().RequireEqual(attribute, Of(tokens));
      e().Remove(attribute);
    }
  }

  // Returns the remainder of a division that rounds down.
  static std::int64_t Mod(WideSum amount) {
    const auto remainder = static_cast<std::int64_t>(amount % kMillitokens);
    return remainder < 0 ? remainder + kMillitokens : remainder;
  }

  std::optional<Value> SeenValue() const {
    if (!seen_) return std::nullopt;
    const auto found = seen_->find(kUsageRemainders);
    return found == seen_->end() ? std::nullopt : std::optional(found->second);
  }

  Result<Millitokens> SeenRemainders() const {
    if (!SeenValue()) return Millitokens{};
    const std::string* text = GetText(*seen_, kUsageRemainders);
    auto remainders = text == nullptr ? std::nullopt : ReadRemainders(*text);
    if (remainders) return *std::move(remainders);
    return DamagedUsage(group_, kUsageRemainders, text == nullptr ? "" : *text);
  }

  void StoreRemainders(const Millitokens& remainders) {
    const std::optional<Value> seen = SeenValue();
    e().RequireSame(kUsageRemainders, seen);
    const std::string text = FormatUsageRemainders(remainders);
    if (!text.empty()) {
      e().Set(kUsageRemainders, Of(text));
    } else if (seen) {
      e().Remove(kUsageRemainders);
    }
  }

  const UsageGroup& group_;
  const std::optional<Item>& seen_;
  const bool is_full_;
  Write write_;
  std::map<std::string_view, WideSum> sums_;
  std::int64_t events_ = 0;
  bool is_part_ = false;
};

}  // namespace

std::string WatermarkAttribute(std::uint32_t shard) {
  return fmt::format(FMT_COMPILE("w_s{}"), shard);
}

Result<std::optional<UsagePlan>> PlanUsage(const UsageGroup& group, const UsageTerms& terms,
                                           std::int64_t retention_days) {
  absl::InlinedVector<NewChanges, 1> sources;
  for (const UsageSource& source : group.sources) {
    WEIR_ASSIGN_OR_RETURN(const NewChanges above, ChangesAbove(group, source, terms.seen));
    if (!above.changes.empty()) sources.push_back(above);
  }
  if (sources.empty()) return std::nullopt;
  UsageWriter writer(group, terms, retention_days);
  for (const NewChanges& source : sources) writer.Count(source);
  WEIR_ASSIGN_OR_RETURN(UsagePlan plan, writer.Finish());
  return plan;
}

}  // namespace weir::dynamo
