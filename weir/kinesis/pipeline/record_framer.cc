#include "weir/kinesis/pipeline/record_framer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "weir/runtime/deadline.h"
#include "weir/runtime/earliest.h"

namespace weir::kinesis {

RecordFramer::RecordFramer(const AggregatorOptions& options, bool is_ordered)
    : options_(options), aggregator_(options) {
  if (is_ordered) gate_.emplace();
}

void RecordFramer::AddUnmapped(UserRecord record) {
  unmapped_expire_ =
      unmapped_.empty() ? record.expires : std::min(unmapped_expire_, record.expires);
  unmapped_.push_back(std::move(record));
}

void RecordFramer::AggregateUnmapped(const ShardRanges& shards) {
  for (UserRecord& record : std::exchange(unmapped_, {})) Put(std::move(record), shards);
}

void RecordFramer::Put(UserRecord record, const ShardRanges& shards) {
  const std::optional<ShardId> expected = shards.ShardOf(record.hash);
  aggregator_.Put(std::move(record), expected, framed_);
}

void RecordFramer::Reframe(OrderGate::Ticket ticket, std::vector<UserRecord> records,
                           const ShardRanges& shards) {
  if (gate_) {
    gate_->Split(ticket, FrameApart(std::move(records), shards), passed_);
  } else {
    for (UserRecord& record : records) Put(std::move(record), shards);
  }
}

std::vector<KinesisRecord> RecordFramer::FrameApart(std::vector<UserRecord> records,
                                                    const ShardRanges& shards) {
  Aggregator aggregator(options_);
  std::vector<KinesisRecord> framed;
  for (UserRecord& record : records) {
    const std::optional<ShardId> expected = shards.ShardOf(record.hash);
    aggregator.Put(std::move(record), expected, framed);
  }
  aggregator.TakeAll(framed);
  return framed;
}

void RecordFramer::EndTicket(OrderGate::Ticket ticket) {
  if (gate_) gate_->Done(ticket, passed_);
}

void RecordFramer::RerouteShardless(const ShardRanges& shards) {
  std::vector<KinesisRecord> unplaced;
  aggregator_.TakeShardless(unplaced);
  if (gate_) FrameAll();
  for (KinesisRecord& record : unplaced) {
    Unframe(record);
    for (UserRecord& user : record.records) Put(std::move(user), shards);
  }
}

std::vector<KinesisRecord> RecordFramer::TakePassed() {
  for (KinesisRecord& record : std::exchange(framed_, {})) {
    if (gate_) {
      gate_->Put(std::move(record), passed_);
    } else {
      passed_.push_back(std::move(record));
    }
  }
  return std::exchange(passed_, {});
}

std::vector<UserRecord> RecordFramer::TakeExpiredUnmapped(Instant now) {
  std::vector<UserRecord> expired;
  if (unmapped_.empty() || now < unmapped_expire_) return expired;
  for (UserRecord& record : std::exchange(unmapped_, {})) {
    record.expires > now ? AddUnmapped(std::move(record)) : expired.push_back(std::move(record));
  }
  return expired;
}

void RecordFramer::TakeExpired(Instant now, std::vector<KinesisRecord>& out) {
  if (gate_) gate_->Lift(now, out);
}

std::optional<Instant> RecordFramer::NextWake() const {
  std::optional<Instant> expiry;
  if (!unmapped_.empty()) expiry = unmapped_expire_;
  return EarliestOf({aggregator_.NextWake(), expiry, gate_ ? gate_->NextWake() : std::nullopt});
}

void RecordFramer::TakeAll(std::vector<KinesisRecord>& out) {
  std::ranges::move(std::exchange(framed_, {}), std::back_inserter(out));
  std::ranges::move(std::exchange(passed_, {}), std::back_inserter(out));
  aggregator_.TakeAll(out);
  TakeExpired(Deadline::Never().at(), out);
}

void RecordFramer::ForgetTickets() {
  if (gate_) gate_.emplace();
}

}  // namespace weir::kinesis
