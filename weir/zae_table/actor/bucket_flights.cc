#include "weir/zae_table/actor/bucket_flights.h"

#include <algorithm>
#include <utility>

#include "weir/zae_table/actor/fence_slots.h"

namespace weir::dynamo {
namespace {

// A write that takes longer than three round trips is superseded by another one. If all writes are
// slow, the table is busy and must not receive each write twice, so the bound is a multiple of the
// median round trip.
constexpr int kSlowRoundTrips = 3;
constexpr nanoseconds kMinSlowAfter = milliseconds(10);
constexpr nanoseconds kMaxSlowAfter = milliseconds(1'000);
// The bound if no response came in the last second.
constexpr nanoseconds kDefaultSlowAfter = milliseconds(100);
// The minimum during a claim (WriteFence::is_claiming), for example when a process writes to an
// item for the first time. If the first write of a claim is superseded and another process moves
// rf, the second write cannot show whether the first one was applied. Decisions would then report
// maybe_charged_twice although the first response is only late.
constexpr nanoseconds kMinSlowAfterOfClaim = milliseconds(100);
// A look (a part that only waits for an image) causes a read of the item only if the oldest write
// in flight was sent at least this long ago.
constexpr nanoseconds kMinReadDelay = milliseconds(100);
constexpr std::size_t kMaxFlights = 3;

// Returns the time after which a write counts as slow.
nanoseconds SlowAfter(const ProtocolTime& now) {
  if (!now.round_trip) return kDefaultSlowAfter;
  return std::clamp(*now.round_trip * kSlowRoundTrips, kMinSlowAfter, kMaxSlowAfter);
}

// The time for which a write may be in doubt before its parts are reported as unknown.
constexpr nanoseconds kMaxDoubt = std::chrono::seconds(10);

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

// An unfenced write is alone in its round, so its outcome is the outcome of its parts.
BucketFlights::Settlement BucketFlights::OnApplied(const Flight& flight) {
  if (flight.fence_id) return DropFlightsIfSettled(fence_.OnApplied(*flight.fence_id));
  return DropFlightsIfSettled({.applied = flight.parts, .not_applied = {}, .unknown = {}});
}

// A failed condition does not mean that no write was applied. An earlier write of the round may
// have been applied and have caused the failure: the fence then finds the value of that write in
// the slot of the returned item.
BucketFlights::Settlement BucketFlights::OnFailed(const Flight& flight,
                                                  const std::optional<Item>& item) {
  if (!flight.fence_id) return OnNotApplied(flight);
  std::optional<FencedItem> fenced_item;
  if (item) fenced_item = FencedItem{ReadSlots(*item), {GetNumber(*item, "rf").value_or(0)}};
  return DropFlightsIfSettled(fence_.OnFailed(*flight.fence_id, fenced_item));
}

BucketFlights::Settlement BucketFlights::OnNotApplied(const Flight& flight) {
  if (flight.fence_id) return DropFlightsIfSettled(fence_.OnNotApplied(*flight.fence_id));
  return DropFlightsIfSettled({.applied = {}, .not_applied = flight.parts, .unknown = {}});
}

// The parts of a lost write that is not fenced are unknown at once: no later write can show whether
// it was applied.
BucketFlights::Settlement BucketFlights::OnLost(const Flight& flight, Instant now) {
  if (!flight.fence_id) {
    return DropFlightsIfSettled({.applied = {}, .not_applied = {}, .unknown = flight.parts});
  }
  if (!doubt_since_) doubt_since_ = now;
  return {};
}

// Also drops the writes in flight: their parts belong to the round and are reported here.
std::optional<BucketFlights::Settlement> BucketFlights::Abandon(Instant now) {
  if (abandon_at() > now) return std::nullopt;
  doubt_since_.reset();
  flights_.clear();
  return fence_.Abandon();
}

// The writes of an ended round that are still in flight are dropped, because their parts have been
// reported and their responses cannot change that.
BucketFlights::Settlement BucketFlights::DropFlightsIfSettled(Settlement settlement) {
  if (is_settled()) {
    doubt_since_.reset();
    flights_.clear();
  }
  return settlement;
}

// A write that is not fenced is never superseded: it and the later write could both be applied.
Instant BucketFlights::SupersedeAt(const ProtocolTime& now) const {
  if (flights_.empty()) return now.at;
  const bool is_fenced = flights_.back().fence_id.has_value();
  if (!is_fenced || flights_.size() >= kMaxFlights) return kNoTime;
  const nanoseconds min = fence_.is_claiming() ? kMinSlowAfterOfClaim : nanoseconds(0);
  return flights_.back().sent + std::max(SlowAfter(now), min);
}

// The time counts from the oldest write in flight: if its response is late, a look does not wait as
// long again for each write that supersedes it.
Instant BucketFlights::ReadDueAt(const ProtocolTime& now) const {
  if (flights_.empty()) return now.at;
  return flights_.front().sent + std::max(SlowAfter(now), kMinReadDelay);
}

std::uint64_t BucketFlights::last_id_before_flights() const {
  return flights_.empty() ? last_id_ : flights_.front().id - 1;
}

Instant BucketFlights::abandon_at() const {
  return doubt_since_ ? *doubt_since_ + kMaxDoubt : kNoTime;
}

}  // namespace weir::dynamo
