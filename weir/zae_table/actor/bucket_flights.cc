#include "weir/zae_table/actor/bucket_flights.h"

#include <algorithm>
#include <utility>

#include "weir/zae_table/actor/fence_slots.h"

namespace weir::dynamo {
namespace {

// A write that takes longer than three round trips is superseded by another one. If all writes are
// slow, the table is busy and must not receive each of them twice, so the bound is a multiple of
// the median round trip.
constexpr int kSlowRoundTrips = 3;
constexpr nanoseconds kLeastSlow = milliseconds(10);
constexpr nanoseconds kMaxSlow = milliseconds(1'000);
// The first write of a process claims its slot. If another process moves rf meanwhile, a second
// write does not show whether the first one was applied, and decisions say that they may be charged
// twice. So the first write gets more time to respond.
constexpr nanoseconds kLeastSlowClaim = milliseconds(100);
// The bound if no response came in the last second.
constexpr nanoseconds kSlowUnlessKnown = milliseconds(100);
constexpr std::size_t kMaxFlights = 3;

// Returns the time after which a write counts as slow.
nanoseconds SlowAfter(const ProtocolTime& moment) {
  if (!moment.round_trip) return kSlowUnlessKnown;
  return std::clamp(*moment.round_trip * kSlowRoundTrips, kLeastSlow, kMaxSlow);
}

// How long a write may be in doubt before its parts are reported as unknown.
constexpr nanoseconds kPatience = std::chrono::seconds(10);

}  // namespace

std::optional<WriteFence::Guard> BucketFlights::Begin(const std::vector<PartId>& parts,
                                                      const BucketImage* image, UnixMillis now,
                                                      std::uint32_t draw) {
  if (image == nullptr) return fence_.BeginCreation(parts, now, draw);
  return fence_.Begin(parts, {.slots = image->slots, .rf = image->bucket.time}, now, draw);
}

std::uint64_t BucketFlights::Add(Flight flight) {
  flight.id = ++last_id_;
  flights_.push_back(std::move(flight));
  return last_id_;
}

std::optional<Flight> BucketFlights::Remove(std::uint64_t id) {
  const auto found = std::ranges::find(flights_, id, &Flight::id);
  if (found == flights_.end()) return std::nullopt;
  Flight flight = std::move(*found);
  flights_.erase(found);
  return flight;
}

// A write that is not fenced is the only one of its round: its outcome is that of its parts.
BucketFlights::Settlement BucketFlights::OnApplied(const Flight& flight) {
  if (flight.fenced) return Settled(fence_.OnApplied(*flight.fenced));
  return Settled({.applied = flight.parts, .not_applied = {}, .unknown = {}});
}

// The slot decides: the condition may have failed because an earlier write of the round was
// applied, which the fence finds in the slot of the returned item.
BucketFlights::Settlement BucketFlights::OnFailed(const Flight& flight,
                                                  const std::optional<Item>& item) {
  if (!flight.fenced) return OnNotApplied(flight);
  std::optional<FencedItem> fenced;
  if (item) fenced = FencedItem{ReadSlots(*item), {GetNumber(*item, "rf").value_or(0)}};
  return Settled(fence_.OnFailed(*flight.fenced, fenced));
}

BucketFlights::Settlement BucketFlights::OnNotApplied(const Flight& flight) {
  if (flight.fenced) return Settled(fence_.OnNotSent(*flight.fenced));
  return Settled({.applied = {}, .not_applied = flight.parts, .unknown = {}});
}

// A lost write that is not fenced settles its round at once, as unknown: no later write can show
// whether it was applied.
BucketFlights::Settlement BucketFlights::OnLost(const Flight& flight, Instant now) {
  if (!flight.fenced) return Settled({.applied = {}, .not_applied = {}, .unknown = flight.parts});
  if (!doubt_since_) doubt_since_ = now;
  return {};
}

// Drops the writes in flight too: they belong to the round, whose parts are all reported here.
std::optional<BucketFlights::Settlement> BucketFlights::Abandon(Instant now) {
  if (abandon_at() > now) return std::nullopt;
  doubt_since_.reset();
  flights_.clear();
  return fence_.Abandon();
}

// When no write may be applied any more, the round has ended, and the responses of its writes that
// are still in flight contain nothing new.
BucketFlights::Settlement BucketFlights::Settled(Settlement settlement) {
  if (is_settled()) {
    doubt_since_.reset();
    flights_.clear();
  }
  return settlement;
}

// A write that is not fenced is never superseded: both could be applied.
Instant BucketFlights::SupersedeAt(const ProtocolTime& moment) const {
  if (flights_.empty()) return moment.at;
  const bool is_fenced = flights_.back().fenced.has_value();
  if (!is_fenced || flights_.size() >= kMaxFlights) return kNoTime;
  const nanoseconds least = fence_.is_claiming() ? kLeastSlowClaim : nanoseconds(0);
  return flights_.back().sent + std::max(SlowAfter(moment), least);
}

// The oldest write in flight decides: if it is late, a look does not wait for the writes that have
// superseded it.
Instant BucketFlights::ReadDueAt(const ProtocolTime& moment) const {
  if (flights_.empty()) return moment.at;
  return flights_.front().sent + std::max(SlowAfter(moment), kSlowUnlessKnown);
}

std::uint64_t BucketFlights::last_id_before_flights() const {
  return flights_.empty() ? last_id_ : flights_.front().id - 1;
}

Instant BucketFlights::abandon_at() const {
  return doubt_since_ ? *doubt_since_ + kPatience : kNoTime;
}

}  // namespace weir::dynamo
