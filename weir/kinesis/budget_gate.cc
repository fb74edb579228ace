#include "weir/kinesis/budget_gate.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace weir::kinesis {

void BudgetGate::Put(KinesisRecord record) {
  expires_ = std::min(expires_.value_or(record.expires), record.expires);
  lanes_[*record.shard].waiting.push_back(std::move(record));
}

BudgetAsk BudgetGate::AskFor(ShardId shard, const Lane& lane, Instant now) const {
  // Also if a record expires before: a question without time would find the store away, and a
  // grant.
  BudgetAsk ask{.shard = shard, .until = now + options_.answer_within};
  const std::size_t most_records = options_.max_records / lane.divisor;
  const std::size_t most_bytes = options_.max_bytes / lane.divisor;
  for (const KinesisRecord& record : lane.waiting) {
    const bool fits = ask.records < most_records && ask.bytes + record.bytes() <= most_bytes;
    if (ask.records > 0 && !fits) break;
    ++ask.records;
    ask.bytes += record.bytes();
  }
  return ask;
}

void BudgetGate::TakeAsks(Instant now, std::vector<BudgetAsk>& asks) {
  again_.reset();
  for (auto& [shard, lane] : lanes_) {
    if (lane.asked > 0) continue;
    if (lane.refused && *lane.refused > now) {
      again_ = std::min(again_.value_or(*lane.refused), *lane.refused);
      continue;
    }
    asks.push_back(AskFor(shard, lane, now));
    lane.asked = asks.back().records;
    lane.refused.reset();
  }
}

std::optional<Instant> BudgetGate::Wake() const {
  if (!expires_ || !again_) return expires_ ? expires_ : again_;
  return std::min(*expires_, *again_);
}

void BudgetGate::OnAnswer(ShardId shard, const BudgetDecision& decision, Instant now,
                          std::vector<KinesisRecord>& granted) {
  const auto at = lanes_.find(shard);
  if (at == lanes_.end() || at->second.asked == 0) return;
  Lane& lane = at->second;
  const auto end = lane.waiting.begin() + static_cast<std::ptrdiff_t>(std::exchange(lane.asked, 0));
  if (decision.granted) {
    lane.divisor = std::max<std::size_t>(1, lane.divisor / 2);
    std::move(lane.waiting.begin(), end, std::back_inserter(granted));
    lane.waiting.erase(lane.waiting.begin(), end);
    if (lane.waiting.empty()) lanes_.erase(at);
    return;
  }
  lane.divisor = std::min(lane.divisor * 2, options_.max_records);
  lane.refused =
      now + std::clamp<nanoseconds>(decision.retry_after, milliseconds(1), options_.longest_wait);
  again_ = std::min(again_.value_or(*lane.refused), *lane.refused);
  for (auto record = lane.waiting.begin(); record != end; ++record) {
    expires_ = std::min(expires_.value_or(record->expires), record->expires);
  }
}

void BudgetGate::TakeExpired(Instant now, std::vector<KinesisRecord>& out) {
  if (!expires_ || *expires_ > now) return;
  expires_.reset();
  for (auto at = lanes_.begin(); at != lanes_.end();) {
    TakeExpired(at->second, now, out);
    at = at->second.waiting.empty() ? lanes_.erase(at) : std::next(at);
  }
}

void BudgetGate::TakeExpired(Lane& lane, Instant now, std::vector<KinesisRecord>& out) {
  std::deque<KinesisRecord> rest;
  for (KinesisRecord& record : lane.waiting) {
    const bool asked = rest.size() < lane.asked;
    if (!asked && record.expires <= now) {
      out.push_back(std::move(record));
      continue;
    }
    if (!asked) expires_ = std::min(expires_.value_or(record.expires), record.expires);
    rest.push_back(std::move(record));
  }
  lane.waiting = std::move(rest);
}

void BudgetGate::TakeAll(std::vector<KinesisRecord>& out) {
  for (auto& [shard, lane] : std::exchange(lanes_, {})) {
    std::ranges::move(lane.waiting, std::back_inserter(out));
  }
  expires_.reset();
  again_.reset();
}

}  // namespace weir::kinesis
