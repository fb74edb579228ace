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
  const bool is_sorted = waiting.empty() || waiting.back().expires <= record.expires;
  lane->second.is_in_order &= is_sorted;
  waiting.push_back(std::move(record));
}

BudgetAmount BudgetGate::MostOf(const Lane& lane) const {
  BudgetAmount limit{.records = options_.max_records / lane.divisor,
                     .bytes = options_.max_bytes / lane.divisor};
  // A paced lane requests its portion. The divisor applies to unpaced lanes only.
  if (!lane.pace.is_paced()) return limit;
  const BudgetAmount portion = lane.pace.portion();
  return {.records = std::min(portion.records, options_.max_records),
          .bytes = std::min(portion.bytes, options_.max_bytes)};
}

BudgetRequest BudgetGate::RequestFor(ShardId shard, const Lane& lane, Instant now) const {
  // The deadline is not shortened for a record that expires earlier: a request with less time would
  // end as if the store were unavailable, which counts as a grant.
  BudgetRequest request{
      .shard = shard, .until = now + options_.response_within, .is_paced = lane.pace.is_paced()};
  const BudgetAmount limit = MostOf(lane);
  // The first record is requested whatever its size, except in the second request of a turn.
  const bool takes_any_size = !lane.pace.is_paced() || !lane.pace.is_second();
  for (const KinesisRecord& record : lane.waiting) {
    const bool fits =
        request.records < limit.records && request.bytes + record.bytes() <= limit.bytes;
    if (!fits && (request.records > 0 || !takes_any_size)) break;
    ++request.records;
    request.bytes += record.bytes();
  }
  return request;
}

Instant BudgetGate::DueAt(const Lane& lane) {
  const Instant not_before = lane.not_before.value_or(Instant{INT64_MIN});
  if (!lane.pace.is_paced()) return not_before;
  return std::max(not_before, lane.pace.NextDue(lane.waiting.front().expires));
}

bool BudgetGate::TakeRequest(ShardId shard, Lane& lane, Instant now) {
  if (DueAt(lane) > now) return false;
  PassOver(lane, now);
  lane.request = RequestFor(shard, lane, now);
  lane.requested_at = now;
  lane.requested = lane.request.records;
  lane.not_before.reset();
  // If the first record does not fit into the rest of the turn, the turn ends without a request.
  if (lane.requested == 0) {
    lane.pace.EndTurn();
  } else {
    lane.pace.OnRequest(now);
  }
  return lane.requested > 0;
}

// In an overload the first records are always about to expire. If the budget were requested for
// them, they would use it up and expire before they are sent. A decision takes about half of the
// lead. The shard limiter prefers records that expire later than the lead: this is enough time for
// the decision on the request before theirs, and for the decision on their own.
void BudgetGate::PassOver(Lane& lane, Instant now) const {
  const Instant decided_at = now + lead_ / 2;
  if (lane.waiting.back().expires <= decided_at) return;
  while (lane.waiting.front().expires <= decided_at) {
    lane.overtaken.push_back(std::move(lane.waiting.front()));
    lane.waiting.pop_front();
  }
}

bool BudgetGate::IsIdle(const Lane& lane, Instant now) const {
  return lane.waiting.empty() && lane.overtaken.empty() && lane.pace.IsForgotten(now);
}

void BudgetGate::TakeRequests(Instant now, std::vector<BudgetRequest>& requests) {
  again_.reset();
  std::erase_if(lanes_, [&](const auto& lane) { return IsIdle(lane.second, now); });
  for (auto& [shard, lane] : lanes_) {
    if (lane.requested > 0) continue;
    // Records that were passed over are requested when no other record waits.
    if (lane.waiting.empty()) lane.waiting.swap(lane.overtaken);
    if (lane.waiting.empty()) continue;
    if (TakeRequest(shard, lane, now)) {
      requests.push_back(lane.request);
    } else {
      const Instant due = std::max(DueAt(lane), now);
      again_ = std::min(again_.value_or(due), due);
    }
  }
}

std::optional<Instant> BudgetGate::NextWake() const {
  if (!expires_ || !again_) return expires_ ? expires_ : again_;
  return std::min(*expires_, *again_);
}

void BudgetGate::OnDecision(ShardId shard, const BudgetDecision& decision, Instant now,
                            std::vector<KinesisRecord>& granted) {
  const auto at = lanes_.find(shard);
  // The lane may have been removed by TakeAll meanwhile.
  if (at == lanes_.end() || at->second.requested == 0) return;
  Lane& lane = at->second;
  const std::size_t requested = std::exchange(lane.requested, 0);
  // The lead falls by at most an eighth per decision: one fast decision does not make it too short.
  lead_ = std::clamp(2 * (now - lane.requested_at), lead_ * 7 / 8, 2 * options_.response_within);
  const auto end = lane.waiting.begin() + static_cast<std::ptrdiff_t>(requested);
  lane.pace.OnDecision(lane.request, decision, lane.waiting.size() > requested, now);
  if (decision.granted) {
    // A grant doubles the amount of the next request, up to the maximum of one request.
    lane.divisor = std::max<std::size_t>(1, lane.divisor / 2);
    std::move(lane.waiting.begin(), end, std::back_inserter(granted));
    lane.waiting.erase(lane.waiting.begin(), end);
    return;
  }
  lane.divisor = std::min(lane.divisor * 2, options_.max_records);
  lane.not_before =
      now + std::clamp<nanoseconds>(decision.retry_after, milliseconds(1), options_.longest_wait);
  const Instant due = DueAt(lane);
  again_ = std::min(again_.value_or(due), due);
  // While the request was pending, expires_ did not include its records.
  for (auto record = lane.waiting.begin(); record != end; ++record) {
    expires_ = std::min(expires_.value_or(record->expires), record->expires);
  }
}

void BudgetGate::TakeExpired(Instant now, std::vector<KinesisRecord>& out) {
  if (!expires_ || *expires_ > now) return;
  expires_.reset();
  for (auto& [shard, lane] : lanes_) {
    TakeExpired(lane.overtaken, {.is_in_order = lane.is_in_order}, now, out);
    TakeExpired(lane.waiting, {lane.requested, lane.is_in_order}, now, out);
    lane.is_in_order |= lane.overtaken.empty() && lane.waiting.empty();
  }
}

void BudgetGate::TakeUnplaced(const ShardMap& map, std::vector<KinesisRecord>& out) {
  for (auto& [shard, lane] : lanes_) {
    if (map.IsOpen(shard)) continue;
    std::ranges::move(std::exchange(lane.overtaken, {}), std::back_inserter(out));
    const auto first = lane.waiting.begin() + static_cast<std::ptrdiff_t>(lane.requested);
    std::move(first, lane.waiting.end(), std::back_inserter(out));
    lane.waiting.erase(first, lane.waiting.end());
    lane.is_in_order |= lane.waiting.empty();
  }
}

// Records usually expire in the order of the queue. Then only the expired ones are visited.
void BudgetGate::TakeExpired(std::deque<KinesisRecord>& from, const ScanOptions& options,
                             Instant now, std::vector<KinesisRecord>& out) {
  const auto is_expired = [now](const KinesisRecord& record) { return record.expires <= now; };
  const auto first = from.begin() + static_cast<std::ptrdiff_t>(options.requested);
  auto last = std::find_if_not(first, from.end(), is_expired);
  std::move(first, last, std::back_inserter(out));
  last = from.erase(first, last);
  if (!options.is_in_order) {
    auto live_end = last;
    for (auto record = last; record != from.end(); ++record) {
      if (is_expired(*record)) {
        out.push_back(std::move(*record));
      } else {
        if (live_end != record) *live_end = std::move(*record);
        ++live_end;
      }
    }
    from.erase(live_end, from.end());
  }
  KeepExpiry(from, options);
}

void BudgetGate::KeepExpiry(const std::deque<KinesisRecord>& queue, const ScanOptions& options) {
  const auto first = queue.begin() + static_cast<std::ptrdiff_t>(options.requested);
  if (first == queue.end()) return;
  const auto earliest = options.is_in_order ? first
                                            : std::ranges::min_element(first, queue.end(), {},
                                                                       &KinesisRecord::expires);
  expires_ = std::min(expires_.value_or(earliest->expires), earliest->expires);
}

void BudgetGate::TakeAll(std::vector<KinesisRecord>& out) {
  for (auto& [shard, lane] : std::exchange(lanes_, {})) {
    std::ranges::move(lane.overtaken, std::back_inserter(out));
    std::ranges::move(lane.waiting, std::back_inserter(out));
  }
  expires_.reset();
  again_.reset();
}

}  // namespace weir::kinesis
