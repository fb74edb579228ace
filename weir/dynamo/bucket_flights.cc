#include "weir/dynamo/bucket_flights.h"

#include <algorithm>
#include <utility>

#include "weir/dynamo/fence_slots.h"

namespace weir::dynamo {
namespace {

// A write that is slower than three round trips is joined by one that supersedes it. If all writes
// are slow, the table is busy, and must not get each of them twice; so the bound follows the usual
// round trip.
constexpr int kSlowRoundTrips = 3;
constexpr nanoseconds kLeastSlow = milliseconds(10);
constexpr nanoseconds kMostSlow = milliseconds(1'000);
// If other processes write meanwhile, a second claim leaves the outcome of the first unknown, and
// its decisions say that they may be charged twice. A response that is just late prevents that.
constexpr nanoseconds kLeastSlowClaim = milliseconds(100);
constexpr nanoseconds kSlowUnlessKnown = milliseconds(100);
constexpr std::size_t kMostFlights = 3;

nanoseconds SlowAfter(const Moment& moment) {
  if (!moment.round_trip) return kSlowUnlessKnown;
  return std::clamp(*moment.round_trip * kSlowRoundTrips, kLeastSlow, kMostSlow);
}

// How long the outcome of writes is sought.
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

std::optional<Flight> BucketFlights::Take(std::uint64_t id) {
  const auto found = std::ranges::find(flights_, id, &Flight::id);
  if (found == flights_.end()) return std::nullopt;
  Flight flight = std::move(*found);
  flights_.erase(found);
  return flight;
}

BucketFlights::Settlement BucketFlights::OnApplied(const Flight& flight) {
  if (flight.fenced) return Settled(fence_.OnApplied(*flight.fenced));
  return Settled({.applied = flight.parts, .not_applied = {}, .unknown = {}});
}

// The slot is what counts: the condition may have failed because an earlier write was applied.
BucketFlights::Settlement BucketFlights::OnFailed(const Flight& flight,
                                                  const std::optional<Item>& item) {
  if (!flight.fenced) return OnNotSent(flight);
  std::optional<FencedItem> fenced;
  if (item) fenced = FencedItem{ReadSlots(*item), {GetNumber(*item, "rf").value_or(0)}};
  return Settled(fence_.OnFailed(*flight.fenced, fenced));
}

BucketFlights::Settlement BucketFlights::OnNotSent(const Flight& flight) {
  if (flight.fenced) return Settled(fence_.OnNotSent(*flight.fenced));
  return Settled({.applied = {}, .not_applied = flight.parts, .unknown = {}});
}

BucketFlights::Settlement BucketFlights::OnLost(const Flight& flight, Instant now) {
  if (!flight.fenced) return Settled({.applied = {}, .not_applied = {}, .unknown = flight.parts});
  if (!doubt_since_) doubt_since_ = now;
  return {};
}

std::optional<BucketFlights::Settlement> BucketFlights::Abandon(Instant now) {
  if (abandon_at() > now) return std::nullopt;
  doubt_since_.reset();
  flights_.clear();
  return fence_.Abandon();
}

// With nothing in doubt, the round is over; responses that still come tell nothing new.
BucketFlights::Settlement BucketFlights::Settled(Settlement settlement) {
  if (is_settled()) {
    doubt_since_.reset();
    flights_.clear();
  }
  return settlement;
}

Instant BucketFlights::SupersedeAt(const Moment& moment) const {
  if (flights_.empty()) return moment.at;
  const bool is_fenced = flights_.back().fenced.has_value();
  if (!is_fenced || flights_.size() >= kMostFlights) return kNoTime;
  const nanoseconds least = fence_.is_claiming() ? kLeastSlowClaim : nanoseconds(0);
  return flights_.back().sent + std::max(SlowAfter(moment), least);
}

Instant BucketFlights::LookAt(const Moment& moment) const {
  if (flights_.empty()) return moment.at;
  return flights_.front().sent + std::max(SlowAfter(moment), kSlowUnlessKnown);
}

std::uint64_t BucketFlights::last_answered_id() const {
  return flights_.empty() ? last_id_ : flights_.front().id - 1;
}

Instant BucketFlights::abandon_at() const {
  return doubt_since_ ? *doubt_since_ + kPatience : kNoTime;
}

}  // namespace weir::dynamo
