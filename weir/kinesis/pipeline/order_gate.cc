#include "weir/kinesis/pipeline/order_gate.h"

#include <algorithm>

namespace weir::kinesis {

void OrderGate::Put(KinesisRecord record, std::vector<KinesisRecord>& passed) {
  Enqueue(std::move(record), nullptr, passed);
}

void OrderGate::Done(Ticket ticket, std::vector<KinesisRecord>& passed) {
  Split(ticket, {}, passed);
}

void OrderGate::Split(Ticket ticket, std::vector<KinesisRecord> parts,
                      std::vector<KinesisRecord>& passed) {
  const Queued whole = std::move(queued_.extract(ticket).mapped());
  // The parts are queued before `whole` leaves, so that no other record becomes the first in one of
  // their lanes meanwhile.
  for (KinesisRecord& part : parts) Enqueue(std::move(part), &whole, passed);
  RemovePositions(whole, passed);
}

void OrderGate::Lift(Instant now, std::vector<KinesisRecord>& lifted) {
  while (!expiries_.empty() && expiries_.begin()->first <= now) {
    const Ticket ticket = expiries_.begin()->second;
    lifted.push_back(TakeRecord(ticket, queued_.at(ticket)));
  }
}

std::optional<Instant> OrderGate::NextWake() const {
  if (expiries_.empty()) return std::nullopt;
  return expiries_.begin()->first;
}

std::vector<OrderGate::Position> OrderGate::LanesOf(const KinesisRecord& record) {
  std::vector<Position> positions;
  positions.reserve(record.records.size());
  for (const UserRecord& user : record.records) positions.push_back({user.hash, {}});
  std::ranges::sort(positions, {}, &Position::hash);
  // A hash key of several user records is one lane; otherwise the record would wait for itself.
  const auto repeated = std::ranges::unique(positions, {}, &Position::hash);
  positions.erase(repeated.begin(), repeated.end());
  return positions;
}

void OrderGate::Enqueue(KinesisRecord record, const Queued* before,
                        std::vector<KinesisRecord>& passed) {
  const Ticket ticket = ++last_ticket_;
  record.ticket = ticket;
  Queued queued{.positions = LanesOf(record)};
  // Tickets behind `before` need not be counted again: `before` blocked them, and now its part
  // does.
  for (Position& position : queued.positions) {
    Lane& lane = lanes_[position.hash];
    const auto behind = before == nullptr ? lane.end() : before->PositionIn(position.hash);
    position.at = lane.insert(behind, ticket);
    if (position.at != lane.begin()) ++queued.blocked;
  }
  if (queued.blocked == 0) {
    passed.push_back(std::move(record));
  } else {
    expiries_.emplace(record.expires, ticket);
    queued.record = std::move(record);
  }
  queued_.emplace(ticket, std::move(queued));
}

OrderGate::Lane::iterator OrderGate::Queued::PositionIn(HashKey lane) const {
  return std::ranges::lower_bound(positions, lane, {}, &Position::hash)->at;
}

void OrderGate::RemovePositions(const Queued& queued, std::vector<KinesisRecord>& passed) {
  for (const Position& position : queued.positions) {
    const auto lane = lanes_.find(position.hash);
    // A lifted ticket may leave from the middle of a lane. Then the first ticket stays the same.
    const bool was_first = position.at == lane->second.begin();
    lane->second.erase(position.at);
    if (lane->second.empty()) {
      lanes_.erase(lane);
    } else if (was_first) {
      OnFirst(lane->second.front(), passed);
    }
  }
}

void OrderGate::OnFirst(Ticket ticket, std::vector<KinesisRecord>& passed) {
  Queued& queued = queued_.at(ticket);
  --queued.blocked;
  // A lifted ticket has no record here any more; it only keeps its positions.
  if (queued.blocked == 0 && queued.record) passed.push_back(TakeRecord(ticket, queued));
}

KinesisRecord OrderGate::TakeRecord(Ticket ticket, Queued& queued) {
  KinesisRecord record = std::move(*queued.record);
  queued.record.reset();
  expiries_.erase({record.expires, ticket});
  return record;
}

}  // namespace weir::kinesis
