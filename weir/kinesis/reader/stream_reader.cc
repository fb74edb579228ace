#include "weir/kinesis/reader/stream_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weir/aws/json_response.h"
#include "weir/kinesis/reader/user_records.h"
#include "weir/runtime/earliest.h"

namespace weir::kinesis {

using Stage = ShardReading::Stage;

StreamReader::StreamReader(StreamAddress stream, const ReaderOptions& options, std::uint64_t seed)
    : stream_(std::move(stream)),
      options_(options),
      failures_(options, seed),
      readings_({.from = options.from, .only = options.only, .failures = failures_.NewSeries()}),
      listing_(failures_.NewSeries(), options.only) {}

ReaderStep StreamReader::OnWake(Instant now) { return NextStep(now); }

ReaderStep StreamReader::OnResponse(std::uint64_t id, const Response& response, Instant now) {
  const bool was_failing = failures_.any();
  ReaderStep step;
  Status status = HandleResponse(id, response, now, step);
  if (!status) {
    step.error = std::move(status.error());
    step.done = true;
    return step;
  }
  ReaderStep next = NextStep(now);
  next.records = std::move(step.records);
  next.recovered = was_failing && !failures_.any();
  if (!was_failing && failures_.any()) next.failing = failures_.TakeFirst();
  return next;
}

Status StreamReader::HandleResponse(std::uint64_t id, const Response& response, Instant now,
                                    ReaderStep& step) {
  if (listing_.IsInFlight(id)) return OnListing(response, now);
  const auto request = in_flight_.find(id);
  if (request == in_flight_.end()) return {};
  ShardReading& reading = readings_.at(request->second);
  in_flight_.erase(request);
  return OnShard(reading, response, now, step);
}

ReaderStep StreamReader::NextStep(Instant now) {
  ReaderStep step;
  readings_.BeginReady(now);
  const std::optional<Instant> listing = listing_.NextWake();
  if (listing && *listing <= now) step.requests.push_back(MakeListRequest());
  while (const std::optional<Instant> due = NextShardWake()) {
    if (*due > now) break;
    step.requests.push_back(MakeShardRequest(readings_.TakeDue()));
  }
  step.wake = EarliestOf({listing_.NextWake(), NextShardWake()});
  step.done = is_done();
  return step;
}

ReaderStep::Request StreamReader::MakeListRequest() {
  const std::uint64_t id = next_id_++;
  return {id, "ListShards", ListAllShardsBody(stream_, listing_.Begin(id))};
}

ReaderStep::Request StreamReader::MakeShardRequest(const ShardReading& reading) {
  const ShardId shard = reading.shard.id;
  const std::uint64_t id = next_id_++;
  in_flight_.emplace(id, shard);
  if (reading.stage == Stage::kBegins) {
    return {id, "GetShardIterator", GetShardIteratorBody(stream_, shard, reading.position)};
  }
  return {id, "GetRecords", GetRecordsBody(stream_, reading.iterator, options_.page_records)};
}

std::optional<Instant> StreamReader::NextShardWake() const {
  if (in_flight_.size() >= options_.max_in_flight) return std::nullopt;
  return readings_.NextWake();
}

bool StreamReader::is_done() const {
  const bool has_requests =
      listing_.is_pending() || !in_flight_.empty() || readings_.NextWake().has_value();
  // With `only`, the reading ends with this shard, even with `follow`.
  const bool is_over =
      options_.only && readings_.is_listed() && !listing_.is_pending() && readings_.HaveAllEnded();
  return is_over || (!options_.follow && !has_requests);
}

Status StreamReader::OnListing(const Response& response, Instant now) {
  WEIR_ASSIGN_OR_RETURN(const std::optional<ShardListing::Shards> shards,
                        listing_.OnResponse(response, now, failures_));
  if (!shards) return {};
  WEIR_RETURN_IF_ERROR(readings_.OnListed(*shards, now));
  // A listing that began before the end was read may be older than the close.
  if (!listing_.is_wanted_again()) WEIR_RETURN_IF_ERROR(DecideDoubted(*shards, now));
  // If all shards have ended, new shards must appear: the listing is repeated.
  const bool is_repeated = options_.follow && !options_.only && readings_.HaveAllEnded();
  listing_.Finish(is_repeated, now, failures_);
  return {};
}

Status StreamReader::DecideDoubted(const ShardListing::Shards& shards, Instant now) {
  for (ShardReading* const reading : readings_.DecideDoubted(shards)) {
    if (reading->stage == Stage::kEnded) {
      failures_.End(reading->failures);
      continue;
    }
    const auto early = MalformedResponse(
        "GetRecords", fmt::format("it has no NextShardIterator, but {} is listed as open",
                                  FormatShardId(reading->shard.id)));
    WEIR_RETURN_IF_ERROR(OnShardFailed(*reading, UnreadableResponse(early.value()), now));
  }
  return {};
}

Status StreamReader::OnShard(ShardReading& reading, const Response& response, Instant now,
                             ReaderStep& step) {
  if (!response) return OnShardFailed(reading, response.error(), now);
  if (reading.stage == Stage::kBegins) {
    auto iterator = ReadGetShardIterator(*response);
    if (!iterator) return OnShardFailed(reading, UnreadableResponse(iterator.error()), now);
    reading.iterator = *std::move(iterator);
    readings_.Schedule(reading, Stage::kReads, now);
    return {};
  }
  auto page = ReadGetRecords(*response);
  if (!page) return OnShardFailed(reading, UnreadableResponse(page.error()), now);
  OnPage(reading, *std::move(page), now, step);
  return {};
}

Status StreamReader::OnShardFailed(ShardReading& reading, const AwsFailure& failure, Instant now) {
  if (failure.code == "ExpiredIteratorException") return OnIteratorExpired(reading, failure, now);
  // Records are removed from a shard after a while, and the shard with them. If the stream itself
  // was deleted, the listing fails.
  if (failure.code == "ResourceNotFoundException") {
    reading.is_missing = true;
    CloseShard(reading, {}, now);
    listing_.Want();
    return {};
  }
  WEIR_ASSIGN_OR_RETURN(const Instant again, failures_.RetryAt(reading.failures, failure, now));
  readings_.Schedule(reading, reading.stage, std::max(again, now + options_.least_gap));
  return {};
}

Status StreamReader::OnIteratorExpired(ShardReading& reading, const AwsFailure& expiry,
                                       Instant now) {
  if (reading.position.at == Position::At::kLatest && reading.stage == Stage::kReads) {
    return Fail(Code::kDataLoss,
                fmt::format("shard {}: its position at the end of the stream expired before it "
                            "was read again, so records may be missing; begin at a time instead",
                            FormatShardId(reading.shard.id)));
  }
  WEIR_ASSIGN_OR_RETURN(const Instant again, failures_.ReplaceAt(reading.failures, expiry, now));
  // The new iterator begins at reading.position: after the last record that was read, if any.
  readings_.Schedule(reading, Stage::kBegins, std::max(again, now + options_.least_gap));
  return {};
}

void StreamReader::OnPage(ShardReading& reading, RecordPage page, Instant now, ReaderStep& step) {
  reading.is_end_doubted =
      page.next_iterator.empty() && page.children.empty() && !reading.shard.closed;
  if (!reading.is_end_doubted) {
    failures_.End(reading.failures);
    reading.failures.backoff.Reset();
  }
  for (const StoredRecord& stored : page.records) {
    AppendUserRecords(reading.shard, stored, stats_, step.records);
  }
  if (!page.records.empty()) {
    reading.position = {Position::At::kAfter, page.records.back().sequence_number};
    reading.iterator.clear();
  }
  if (page.next_iterator.empty()) return CloseShard(reading, page.children, now);
  reading.iterator = std::move(page.next_iterator);
  ReadOn(reading, page, now);
}

void StreamReader::ReadOn(ShardReading& reading, const RecordPage& page, Instant now) {
  // Some engines always respond that no records follow a page. After a full page, records may
  // follow all the same.
  const bool at_end = page.behind.count() == 0 && page.records.size() < options_.page_records;
  if (at_end && !reading.shard.closed && !options_.follow) {
    reading.stage = Stage::kCaughtUp;
    return;
  }
  const bool idle = at_end && page.records.empty() && !reading.shard.closed;
  readings_.Schedule(reading, Stage::kReads, now + (idle ? options_.idle_gap : options_.least_gap));
}

void StreamReader::CloseShard(ShardReading& reading, const std::vector<ReadShard>& children,
                              Instant now) {
  if (!reading.is_end_doubted) failures_.End(reading.failures);
  if (readings_.End(reading, children, now)) listing_.Want();
}

}  // namespace weir::kinesis
