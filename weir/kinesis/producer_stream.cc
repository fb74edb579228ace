#include "weir/kinesis/producer_stream.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>

#include "weir/runtime/deadline.h"

namespace weir::kinesis {
namespace {

constexpr std::size_t kMaxKeyCharacters = 256;

std::size_t CharactersIn(std::string_view utf8) {
  return static_cast<std::size_t>(
      std::ranges::count_if(utf8, [](char byte) { return (byte & 0xC0) != 0x80; }));
}

tl::unexpected<Error> BadRecord(std::string message) {
  return Fail(Code::kInvalidArgument, std::move(message));
}

Status CheckKey(std::string_view key) {
  if (key.empty()) return BadRecord("the partition key is empty: give 1 to 256 characters");
  if (!simdjson::validate_utf8(key)) return BadRecord("the partition key is not UTF-8");
  if (key.size() > kMaxKeyCharacters && CharactersIn(key) > kMaxKeyCharacters) {
    return BadRecord(
        fmt::format("the partition key has {} characters: give 1 to 256", CharactersIn(key)));
  }
  return {};
}

Status CheckData(const ProducerConfig& config, const Record& record) {
  // The service counts the partition key, too.
  const std::size_t bytes = record.data.size() + record.partition_key.size();
  if (std::cmp_greater(bytes, config.max_user_record_bytes)) {
    return BadRecord(
        fmt::format("the record has {} bytes of data and {} of its partition key: give at most {} "
                    "together (MaxUserRecordSize)",
                    record.data.size(), record.partition_key.size(), config.max_user_record_bytes));
  }
  if (record.buffered_time && *record.buffered_time < milliseconds(0)) {
    return BadRecord("the record's buffered time is negative: give 0 or more");
  }
  if (record.ttl && *record.ttl <= milliseconds(0)) {
    return BadRecord("the record's time to live is not positive: give 1 ms or more");
  }
  return {};
}

/// Checks the record and converts it to the form that the pipeline takes.
Result<UserRecord> Prepare(const ProducerConfig& config, Record record, const Clock& clock) {
  WEIR_RETURN_IF_ERROR(CheckKey(record.partition_key));
  WEIR_RETURN_IF_ERROR(CheckData(config, record));
  UserRecord user{.partition_key = std::move(record.partition_key), .data = std::move(record.data)};
  if (record.explicit_hash_key) {
    WEIR_ASSIGN_OR_RETURN(user.hash, ParseHashKey(*record.explicit_hash_key));
    user.explicit_hash_key = FormatHashKey(user.hash);
  } else {
    user.hash = HashOfPartitionKey(user.partition_key);
  }
  const milliseconds buffered = record.buffered_time.value_or(config.record_max_buffered_time);
  const milliseconds ttl = record.ttl.value_or(config.record_ttl);
  user.deadline = Deadline::After(clock, Saturated(buffered)).at();
  user.expires = Deadline::After(clock, Saturated(ttl)).at();
  return user;
}

/// Returns the bytes of the quota that a record occupies. Data count twice, as they came and as
/// they are framed: two threads allocate these copies, and the second thread does not reuse memory
/// that the first one frees.
std::size_t BytesOf(const UserRecord& record) {
  return kRecordOverhead + 2 * record.data.size() + record.partition_key.size();
}

}  // namespace

void BeginAt(Incoming& incoming, Instant now) {
  const nanoseconds waited = now - incoming.pending.origin.put;
  const Instant never = Deadline::Never().at();
  for (Instant* at : {&incoming.record.deadline, &incoming.record.expires}) {
    *at = never - *at > waited ? *at + waited : never;
  }
  incoming.pending.origin.put = now;
}

nanoseconds Saturated(milliseconds time) {
  return std::min(time, std::chrono::floor<milliseconds>(nanoseconds::max()));
}

std::uint64_t PendingTable::Add(PendingRecord pending) {
  if (free_.empty()) {
    records_.push_back(std::move(pending));
    return records_.size() - 1;
  }
  const std::uint64_t number = free_.back();
  free_.pop_back();
  records_[number] = std::move(pending);
  return number;
}

PendingRecord PendingTable::Take(std::uint64_t number) {
  free_.push_back(number);
  return std::exchange(records_[number], {});
}

PendingRecord PendingTable::TakeAllButBytes(std::uint64_t number) {
  PendingRecord remaining{.tenant = records_[number].tenant, .bytes = records_[number].bytes};
  PendingRecord taken = std::exchange(records_[number], std::move(remaining));
  taken.bytes = 0;
  return taken;
}

Result<Incoming> MakeIncoming(const ProducerConfig& config, const Clock& clock, Record record,
                              PutDone done) {
  WEIR_ASSIGN_OR_RETURN(UserRecord user, Prepare(config, std::move(record), clock));
  PendingRecord pending{.done = std::move(done),
                        .bytes = BytesOf(user),
                        .origin = {.put = clock.Now(), .bytes = user.data.size()}};
  return Incoming{std::move(user), std::move(pending)};
}

}  // namespace weir::kinesis
