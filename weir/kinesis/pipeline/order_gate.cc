#include "weir/kinesis/pipeline/order_gate.h"

#include <algorithm>

namespace weir::kinesis {

void OrderGate::Put(KinesisRecord record, std::vector<KinesisRecord>& passed) {
  Stand(std::move(record), nullptr, passed);
}

void OrderGate::Done(Ticket ticket, std::vector<KinesisRecord>& passed) {
  Split(ticket, {}, passed);
}

void OrderGate::Split(Ticket ticket, std::vector<KinesisRecord> parts,
                      std::vector<KinesisRecord>& passed) {
  const Standing whole = std::move(standing_.extract(ticket).mapped());
  // The parts are queued before `whole` leaves, so that no other record becomes the first in one of
  // their lanes meanwhile.
  for (KinesisRecord& part : parts) Stand(std::move(part), &whole, passed);
  Leave(whole, passed);
}

void OrderGate::Lift(Instant now, std::vector<KinesisRecord>& lifted) {
  while (!expiries_.empty() && expiries_.begin()->first <= now) {
    const Ticket ticket = expiries_.begin()->second;
    lifted.push_back(TakeOut(ticket, standing_.at(ticket)));
  }
}

std::optional<Instant> OrderGate::Wake() const {
  if (expiries_.empty()) return std::nullopt;
  return expiries_.begin()->first;
}

std::vector<OrderGate::Place> OrderGate::PlacesOf(const KinesisRecord& record) {
  std::vector<Place> places;
  places.reserve(record.records.size());
  for (const UserRecord& user : record.records) places.push_back({user.hash, {}});
  std::ranges::sort(places, {}, &Place::hash);
  // A hash key of several user records is one lane; otherwise the record would wait for itself.
  const auto repeated = std::ranges::unique(places, {}, &Place::hash);
  places.erase(repeated.begin(), repeated.end());
  return places;
}

void OrderGate::Stand(KinesisRecord record, const Standing* before,
                      std::vector<KinesisRecord>& passed) {
  const Ticket ticket = ++last_ticket_;
  record.ticket = ticket;
  Standing standing{.places = PlacesOf(record)};
  // Tickets behind `before` do not have to be counted: they were blocked by it, and now are by its
  // part.
  for (Place& place : standing.places) {
    Lane& lane = lanes_[place.hash];
    const auto behind = before == nullptr ? lane.end() : before->In(place.hash);
    place.at = lane.insert(behind, ticket);
    if (place.at != lane.begin()) ++standing.blocked;
  }
  if (standing.blocked == 0) {
    passed.push_back(std::move(record));
  } else {
    expiries_.emplace(record.expires, ticket);
    standing.record = std::move(record);
  }
  standing_.emplace(ticket, std::move(standing));
}

OrderGate::Lane::iterator OrderGate::Standing::In(HashKey lane) const {
  return std::ranges::lower_bound(places, lane, {}, &Place::hash)->at;
}

void OrderGate::Leave(const Standing& standing, std::vector<KinesisRecord>& passed) {
  for (const Place& place : standing.places) {
    const auto lane = lanes_.find(place.hash);
    // A lifted ticket may leave from the middle of a lane, which does not change the first one.
    const bool was_first = place.at == lane->second.begin();
    lane->second.erase(place.at);
    if (lane->second.empty()) {
      lanes_.erase(lane);
    } else if (was_first) {
      OnFirst(lane->second.front(), passed);
    }
  }
}

void OrderGate::OnFirst(Ticket ticket, std::vector<KinesisRecord>& passed) {
  Standing& standing = standing_.at(ticket);
  --standing.blocked;
  // A lifted ticket has no record here any more; it only keeps its positions.
  if (standing.blocked == 0 && standing.record) passed.push_back(TakeOut(ticket, standing));
}

KinesisRecord OrderGate::TakeOut(Ticket ticket, Standing& standing) {
  KinesisRecord record = std::move(*standing.record);
  standing.record.reset();
  expiries_.erase({record.expires, ticket});
  return record;
}

}  // namespace weir::kinesis
