#include "weir/kinesis/pipeline/budget_gate.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace weir::kinesis {

void BudgetGate::Put(KinesisRecord record) {
  expires_ = std::min(expires_.value_or(record.expires), record.expires);
  auto lane = lanes_.find(*record.shard);
  if (lane == lanes_.end()) {
    lane = lanes_.emplace(*record.shard, Lane{.pace = BudgetPace(rng_.Next())}).first;
  }
  std::deque<KinesisRecord>& waiting = lane->second.waiting;
  const bool follows = waiting.empty() || waiting.back().expires <= record.expires;
  lane->second.is_in_order &= follows;
  waiting.push_back(std::move(record));
}

BudgetAmount BudgetGate::MostOf(const Lane& lane) const {
  BudgetAmount most{.records = options_.max_records / lane.divisor,
                    .bytes = options_.max_bytes / lane.divisor};
  // A paced lane requests its portion. The divisor applies to unpaced lanes only.
  if (!lane.pace.is_paced()) return most;
  const BudgetAmount portion = lane.pace.portion();
  return {.records = std::min(portion.records, options_.max_records),
          .bytes = std::min(portion.bytes, options_.max_bytes)};
}

BudgetAsk BudgetGate::AskFor(ShardId shard, const Lane& lane, Instant now) const {
  // The deadline is the same if a record expires before it: with less time, the request would end
  // as if the store were unavailable, and that counts as a grant.
  BudgetAsk ask{
      .shard = shard, .until = now + options_.answer_within, .is_paced = lane.pace.is_paced()};
  const BudgetAmount most = MostOf(lane);
  // The first record is requested whatever its size, except in the second request of a turn.
  const bool takes_one = !lane.pace.is_paced() || !lane.pace.has_looked();
  for (const KinesisRecord& record : lane.waiting) {
    const bool fits = ask.records < most.records && ask.bytes + record.bytes() <= most.bytes;
    if (!fits && (ask.records > 0 || !takes_one)) break;
    ++ask.records;
    ask.bytes += record.bytes();
  }
  return ask;
}

Instant BudgetGate::DueAt(const Lane& lane) {
  const Instant refused = lane.refused.value_or(Instant{INT64_MIN});
  if (!lane.pace.is_paced()) return refused;
  return std::max(refused, lane.pace.Next(lane.waiting.front().expires));
}

bool BudgetGate::TakeAsk(ShardId shard, Lane& lane, Instant now) {
  if (DueAt(lane) > now) return false;
  PassOver(lane, now);
  lane.ask = AskFor(shard, lane, now);
  lane.asked_at = now;
  lane.asked = lane.ask.records;
  lane.refused.reset();
  // The first record does not fit into the rest of the turn, which ends without a request.
  if (lane.asked == 0) {
    lane.pace.EndTurn();
  } else {
    lane.pace.OnAsk(now);
  }
  return lane.asked > 0;
}

// In an overload the first records are always about to expire. If the budget were requested for
// them, they would use it up and not be sent. A decision takes about half of the lead. The shard
// limiter prefers records that have more time left than the lead: time for the decision on one
// other request, and for their own.
void BudgetGate::PassOver(Lane& lane, Instant now) const {
  const Instant answered = now + lead_ / 2;
  if (lane.waiting.back().expires <= answered) return;
  while (lane.waiting.front().expires <= answered) {
    lane.passed.push_back(std::move(lane.waiting.front()));
    lane.waiting.pop_front();
  }
}

bool BudgetGate::Forget(const Lane& lane, Instant now) const {
  return lane.waiting.empty() && lane.passed.empty() && lane.pace.IsForgotten(now);
}

void BudgetGate::TakeAsks(Instant now, std::vector<BudgetAsk>& asks) {
  again_.reset();
  std::erase_if(lanes_, [&](const auto& lane) { return Forget(lane.second, now); });
  for (auto& [shard, lane] : lanes_) {
    if (lane.asked > 0) continue;
    // Records that were passed over are requested when no other record waits.
    if (lane.waiting.empty()) lane.waiting.swap(lane.passed);
    if (lane.waiting.empty()) continue;
    if (TakeAsk(shard, lane, now)) {
      asks.push_back(lane.ask);
    } else {
      const Instant due = std::max(DueAt(lane), now);
      again_ = std::min(again_.value_or(due), due);
    }
  }
}

std::optional<Instant> BudgetGate::Wake() const {
  if (!expires_ || !again_) return expires_ ? expires_ : again_;
  return std::min(*expires_, *again_);
}

void BudgetGate::OnAnswer(ShardId shard, const BudgetDecision& decision, Instant now,
                          std::vector<KinesisRecord>& granted) {
  const auto at = lanes_.find(shard);
  // The lane may have been removed by TakeAll meanwhile.
  if (at == lanes_.end() || at->second.asked == 0) return;
  Lane& lane = at->second;
  const std::size_t asked = std::exchange(lane.asked, 0);
  // The lead falls by at most an eighth per decision: one fast decision does not make it too short.
  lead_ = std::clamp(2 * (now - lane.asked_at), lead_ * 7 / 8, 2 * options_.answer_within);
  const auto end = lane.waiting.begin() + static_cast<std::ptrdiff_t>(asked);
  lane.pace.OnAnswer(lane.ask, decision, lane.waiting.size() > asked, now);
  if (decision.granted) {
    // A grant doubles the next amount, up to the whole.
    lane.divisor = std::max<std::size_t>(1, lane.divisor / 2);
    std::move(lane.waiting.begin(), end, std::back_inserter(granted));
    lane.waiting.erase(lane.waiting.begin(), end);
    return;
  }
  lane.divisor = std::min(lane.divisor * 2, options_.max_records);
  lane.refused =
      now + std::clamp<nanoseconds>(decision.retry_after, milliseconds(1), options_.longest_wait);
  const Instant due = DueAt(lane);
  again_ = std::min(again_.value_or(due), due);
  // expires_ did not include the records of the pending request.
  for (auto record = lane.waiting.begin(); record != end; ++record) {
    expires_ = std::min(expires_.value_or(record->expires), record->expires);
  }
}

void BudgetGate::TakeExpired(Instant now, std::vector<KinesisRecord>& out) {
  if (!expires_ || *expires_ > now) return;
  expires_.reset();
  for (auto& [shard, lane] : lanes_) {
    TakeExpired(lane.passed, {.is_in_order = lane.is_in_order}, now, out);
    TakeExpired(lane.waiting, {lane.asked, lane.is_in_order}, now, out);
    lane.is_in_order |= lane.passed.empty() && lane.waiting.empty();
  }
}

// Records usually expire in their order; then only those that have expired are visited.
void BudgetGate::TakeExpired(std::deque<KinesisRecord>& from, const Kept& kept, Instant now,
                             std::vector<KinesisRecord>& out) {
  const auto is_expired = [now](const KinesisRecord& record) { return record.expires <= now; };
  const auto first = from.begin() + static_cast<std::ptrdiff_t>(kept.asked);
  auto last = std::find_if_not(first, from.end(), is_expired);
  std::move(first, last, std::back_inserter(out));
  last = from.erase(first, last);
  if (!kept.is_in_order) {
    auto living = last;
    for (auto record = last; record != from.end(); ++record) {
      if (is_expired(*record)) {
        out.push_back(std::move(*record));
      } else {
        if (living != record) *living = std::move(*record);
        ++living;
      }
    }
    from.erase(living, from.end());
  }
  KeepExpiry(from, kept);
}

void BudgetGate::KeepExpiry(const std::deque<KinesisRecord>& of, const Kept& kept) {
  const auto first = of.begin() + static_cast<std::ptrdiff_t>(kept.asked);
  if (first == of.end()) return;
  const auto earliest =
      kept.is_in_order ? first
                       : std::ranges::min_element(first, of.end(), {}, &KinesisRecord::expires);
  expires_ = std::min(expires_.value_or(earliest->expires), earliest->expires);
}

void BudgetGate::TakeAll(std::vector<KinesisRecord>& out) {
  for (auto& [shard, lane] : std::exchange(lanes_, {})) {
    std::ranges::move(lane.passed, std::back_inserter(out));
    std::ranges::move(lane.waiting, std::back_inserter(out));
  }
  expires_.reset();
  again_.reset();
}

}  // namespace weir::kinesis
