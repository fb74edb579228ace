#include "tests/simulation/slot_oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

namespace weir::simulation {
namespace {

struct Row {
  AccountKey key;
  std::string id;
  std::string resource_id;
  UnixMillis expires;
};

std::string TextOrEmpty(const sim::Item& item, std::string_view name) {
  const auto at = item.find(std::string(name));
  const auto* text = at == item.end() ? nullptr : at->second.As<std::string>();
  return text == nullptr ? "" : *text;
}

// Returns nothing if the item is not a slot.
std::optional<Row> ReadRow(const std::optional<sim::Item>& item) {
  using namespace rate_limiter_py;
  if (!item || !item->contains(std::string(kExpirationTime))) return std::nullopt;
  if (!TextOrEmpty(*item, kReservationId).starts_with("w-")) return std::nullopt;
  const auto* seconds = item->at(std::string(kExpirationTime)).As<sim::Decimal>();
  return Row{.key = {TextOrEmpty(*item, kResourceName), TextOrEmpty(*item, kAccountId)},
             .id = TextOrEmpty(*item, kReservationId),
             .resource_id = TextOrEmpty(*item, kResourceId),
             .expires = UnixMillis{seconds->ToInt64().value_or(0) * 1000}};
}

/// The rows at one instant of the stream.
class Rows {
 public:
  void Apply(const std::optional<Row>& before, const std::optional<Row>& after) {
    if (before) rows_.erase(before->id);
    if (after) rows_[after->id] = *after;
  }
  std::int64_t Count(const AccountKey& key, UnixMillis now) const {
    return std::ranges::count_if(
        rows_, [&](const auto& row) { return row.second.key == key && row.second.expires > now; });
  }

 private:
  std::map<std::string, Row> rows_;
};

class Oracle {
 public:
  Oracle(const SlotFleet& fleet, milliseconds allowance)
      : history_(fleet.history()),
        allowance_(allowance),
        order_(history_.refusals.size()),
        max_held_(history_.refusals.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::sort(order_, {}, [&](std::size_t i) { return history_.refusals[i].asked; });
  }

  // Replays one write of the table in the order of the stream.
  void See(const sim::StreamRecord& record) {
    const std::optional<Row> before = ReadRow(record.before);
    const std::optional<Row> after = ReadRow(record.after);
    OpenUntil(record.at);
    rows_.Apply(before, after);
    for (std::size_t i = 0; i < opened_; ++i) {
      if (history_.refusals[order_[i]].completed >= record.at) Look(order_[i]);
    }
    if (after && !before) CheckClaim(*after, record.at);
    if (before && !after) CheckDeletion(*before, record.at);
  }

  std::vector<std::string> Tell() {
    OpenUntil(UnixMillis{INT64_MAX});
    for (std::size_t i = 0; i < max_held_.size(); ++i) {
      const SlotRefusal& refusal = history_.refusals[i];
      if (max_held_[i] >= refusal.limit) continue;
      broken_.push_back(fmt::format("{}: refused between {} and {} with at most {} of {} held",
                                    Describe(refusal.key), refusal.asked.value,
                                    refusal.completed.value, max_held_[i], refusal.limit));
    }
    return std::move(broken_);
  }

 private:
  // Between writes slots only expire. So it is enough to count when a claim begins, and after each
  // write while it is in flight.
  void OpenUntil(UnixMillis now) {
    while (opened_ < order_.size() && history_.refusals[order_[opened_]].asked <= now) {
      Look(order_[opened_]);
      ++opened_;
    }
  }

  // A claim is decided by the time of its request, however late the decision is made.
  void Look(std::size_t refusal) {
    const auto& [key, limit, asked, completed] = history_.refusals[refusal];
    max_held_[refusal] = std::max(max_held_[refusal], rows_.Count(key, asked - allowance_));
  }

  void CheckClaim(const Row& row, UnixMillis at) {
    const std::int64_t held = rows_.Count(row.key, at);
    const std::int64_t limit = history_.limits.at(row.id);
    if (held <= limit) return;
    broken_.push_back(fmt::format("{}: {} slots are held at {}, by a claim with the limit {}",
                                  Describe(row.key), held, at.value, limit));
  }

  void CheckDeletion(const Row& row, UnixMillis at) {
    if (row.expires <= at + allowance_) return;
    if (history_.released.contains(row.id) || history_.ended.contains(row.resource_id)) return;
    // Bound to a resource that had ended already.
    if (row.resource_id == row.id && !history_.ended.empty()) return;
    broken_.push_back(fmt::format("{}: slot {} was taken away at {}, before its time",
                                  Describe(row.key), row.id, at.value));
  }

  const SlotHistory& history_;
  const milliseconds allowance_;
  Rows rows_;
  std::vector<std::size_t> order_;  // indexes of the refusals, by the time of the request
  std::size_t opened_ = 0;          // how many of these requests have begun by now
  std::vector<std::int64_t> max_held_;
  std::vector<std::string> broken_;
};

}  // namespace

std::vector<std::string> BrokenPromises(const SlotFleet& fleet, milliseconds allowance) {
  Oracle oracle(fleet, allowance);
  for (const sim::StreamRecord& record : fleet.table().stream()) oracle.See(record);
  return oracle.Tell();
}

}  // namespace weir::simulation
