#include "weir/kinesis/pipeline/flushes.h"

#include <algorithm>
#include <utility>

namespace weir::kinesis {

std::uint64_t Epochs::Put(Instant at) {
  const bool has_present = !epochs_.empty() && epochs_.rbegin()->first == current_;
  // The epoch ends kStep after its first record.
  if (has_present) {
    Epoch& present = epochs_.rbegin()->second;
    if (at - present.first < kStep) {
      ++present.records;
      ++present.incomplete;
      present.first = std::min(present.first, at);
      return current_;
    }
    ++current_;
  }
  epochs_.emplace_hint(epochs_.end(), current_, Epoch{1, 1, at});
  return current_;
}

bool Epochs::OnCallbackRan(std::uint64_t epoch) {
  const auto first = epochs_.begin();
  const auto at = first->first == epoch ? first : epochs_.find(epoch);
  if (--at->second.records > 0) return false;
  const bool was_first = at == first;
  epochs_.erase(at);
  return was_first;
}

bool Epochs::IsDone(std::uint64_t epoch) const {
  return epochs_.empty() || epochs_.begin()->first > epoch;
}

bool Epochs::HaveResults(std::uint64_t epoch) const {
  return std::none_of(epochs_.begin(), epochs_.upper_bound(epoch),
                      [](const auto& entry) { return entry.second.incomplete > 0; });
}

std::optional<Instant> Epochs::oldest() const {
  if (epochs_.empty()) return std::nullopt;
  return epochs_.begin()->second.first;
}

Flusher& Flushes::Add(Flusher::Awaits awaits, Done<void> done) {
  Flusher& flusher = flushers_.emplace_back();
  flusher.id = next_id_++;
  flusher.awaits = std::move(awaits);
  flusher.waiter.done = std::move(done);
  return flusher;
}

bool Flushes::OnCallbacksRan(Producer::Stream& stream, const Epochs& epochs,
                             std::vector<Flusher>& finished) {
  bool has_ended_wait = false;
  for (Flusher& flusher : std::exchange(flushers_, {})) {
    const auto at = flusher.awaits.find(&stream);
    const bool is_done = at != flusher.awaits.end() && epochs.IsDone(at->second);
    if (is_done) flusher.awaits.erase(at);
    has_ended_wait |= is_done;
    (flusher.awaits.empty() ? finished : flushers_).push_back(std::move(flusher));
  }
  return has_ended_wait;
}

std::optional<Flusher> Flushes::Take(std::uint64_t id) {
  const auto at = std::ranges::find(flushers_, id, &Flusher::id);
  if (at == flushers_.end()) return std::nullopt;
  Flusher flusher = std::move(*at);
  flushers_.erase(at);
  return flusher;
}

bool Flushes::AwaitsResults(Producer::Stream& stream, const Epochs& epochs) const {
  return std::ranges::any_of(flushers_, [&](const Flusher& flusher) {
    const auto at = flusher.awaits.find(&stream);
    return at != flusher.awaits.end() && !epochs.HaveResults(at->second);
  });
}

}  // namespace weir::kinesis
