// The effects of responses on a reader.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "weir/kinesis/reader/stream_reader.h"
#include "weir/kinesis/wire/deaggregate.h"

namespace weir::kinesis {
namespace {

constexpr nanoseconds kListingGap = std::chrono::seconds(1);
/// The most pages of a listing. A page has at most 1,000 shards.
constexpr std::size_t kMostPages = 1'000;

/// A response that cannot be read counts as lost.
AwsFailure Unreadable(const Error& error) {
  AwsFailure failure;
  failure.kind = FailureClass::kAmbiguous;
  failure.message = error.message;
  return failure;
}

bool MayRetryRead(FailureClass kind) {
  return kind == FailureClass::kThrottle || kind == FailureClass::kTransient ||
         kind == FailureClass::kAmbiguous || kind == FailureClass::kDeadline;
}

}  // namespace

Status StreamReader::OnListing(const Answer& answer, Instant now) {
  if (!answer) return OnListingFailed(answer.error(), now);
  auto page = ReadListAllShards(*answer);
  if (!page) return OnListingFailed(Unreadable(page.error()), now);
  EndFailures(listing_.failure_series);
  if (++listing_.pages > kMostPages) {
    return Fail(Code::kResourceExhausted,
                fmt::format("ListShards: more than {} pages", kMostPages));
  }
  std::ranges::move(page->shards, std::back_inserter(listing_.found));
  listing_.token = std::move(page->next_token);
  listing_.wanted |= !listing_.token.empty();
  return listing_.token.empty() ? OnListed(now) : Status();
}

Status StreamReader::OnListingFailed(const AwsFailure& failure, Instant now) {
  listing_.wanted = true;
  if (failure.code == "ExpiredNextTokenException") {
    listing_.token.clear();
    listing_.found.clear();
    listing_.pages = 0;
    listing_.due = now + kListingGap;
    return {};
  }
  WEIR_ASSIGN_OR_RETURN(listing_.due, TryAgain(listing_.failure_series, failure, now));
  return {};
}

// Pages are processed together, since a child may be listed before its parent.
Status StreamReader::OnListed(Instant now) {
  listing_.pages = 0;
  for (const ReadShard& shard : std::exchange(listing_.found, {})) {
    WEIR_RETURN_IF_ERROR(CheckReadable(shard));
    AddShard(shard, now);
  }
  listed_ = true;
  if (options_.only && readings_.empty()) {
    return Fail(Code::kNotFound,
                fmt::format("the stream has no shard {}", FormatShardId(*options_.only)));
  }
  listing_.wanted = std::exchange(listing_.again, false);
  listing_.due = now + kListingGap;
  if (!options_.follow || options_.only || ended_ < readings_.size()) {
    listing_.failure_series.backoff.Reset();
    return {};
  }
  // No shard is open, so new shards must come.
  listing_.wanted = true;
  listing_.due = listing_.due + listing_.failure_series.backoff.Next(rng_);
  return {};
}

Status StreamReader::OnShard(Reading& reading, const Answer& answer, Instant now,
                             ReaderStep& step) {
  if (!answer) return OnShardFailed(reading, answer.error(), now);
  if (reading.stage == Stage::kBegins) {
    auto iterator = ReadGetShardIterator(*answer);
    if (!iterator) return OnShardFailed(reading, Unreadable(iterator.error()), now);
    reading.iterator = *std::move(iterator);
    ScheduleRequest(reading, Stage::kReads, now);
    return {};
  }
  auto page = ReadGetRecords(*answer);
  if (!page) return OnShardFailed(reading, Unreadable(page.error()), now);
  OnPage(reading, *std::move(page), now, step);
  return {};
}

Status StreamReader::OnShardFailed(Reading& reading, const AwsFailure& failure, Instant now) {
  if (failure.code == "ExpiredIteratorException") {
    if (reading.position.at == Position::At::kLatest && reading.stage == Stage::kReads) {
      return Fail(Code::kDataLoss,
                  fmt::format("shard {}: its position at the end of the stream expired before it "
                              "was read again, so records may be missing; begin at a time instead",
                              FormatShardId(reading.shard.id)));
    }
    // The new iterator begins at reading.position: after the last record that was read, if any.
    ScheduleRequest(reading, Stage::kBegins, now + options_.least_gap);
    return {};
  }
  // Records are removed from a shard after a while, and the shard with them. If the stream itself
  // was deleted, the listing fails.
  if (failure.code == "ResourceNotFoundException") {
    reading.is_missing = true;
    CloseShard(reading, {}, now);
    WantListing();
    return {};
  }
  WEIR_ASSIGN_OR_RETURN(const Instant again, TryAgain(reading.failure_series, failure, now));
  ScheduleRequest(reading, reading.stage, std::max(again, now + options_.least_gap));
  return {};
}

Result<Instant> StreamReader::TryAgain(FailureSeries& failure_series, const AwsFailure& failure,
                                       Instant now) {
  if (!MayRetryRead(failure.kind)) return Fail(ToError(failure));
  // Throttles are retried without an end and do not count as failures.
  if (failure.kind != FailureClass::kThrottle && failure_series.failures++ == 0 &&
      failing_++ == 0) {
    first_failure_ = ToError(failure);
  }
  const bool is_last = options_.most_tries > 0 && failure_series.failures >= options_.most_tries;
  if (is_last) return Fail(ToError(failure));
  return now + failure_series.backoff.Next(rng_);
}

void StreamReader::EndFailures(FailureSeries& failure_series) {
  if (std::exchange(failure_series.failures, 0) > 0) --failing_;
}

void StreamReader::OnPage(Reading& reading, RecordPage page, Instant now, ReaderStep& step) {
  EndFailures(reading.failure_series);
  reading.failure_series.backoff.Reset();
  for (const StoredRecord& stored : page.records) AddRecords(reading.shard, stored, step);
  if (!page.records.empty()) {
    reading.position = {Position::At::kAfter, page.records.back().sequence_number};
  }
  if (page.next_iterator.empty()) return CloseShard(reading, page.children, now);
  reading.iterator = std::move(page.next_iterator);
  // Some engines always respond that no record is behind a page; a full page shows the contrary.
  const bool at_end = page.behind.count() == 0 && page.records.size() < options_.page_records;
  if (at_end && !reading.shard.closed && !options_.follow) {
    reading.stage = Stage::kCaughtUp;
    return;
  }
  const bool idle = at_end && page.records.empty() && !reading.shard.closed;
  ScheduleRequest(reading, Stage::kReads, now + (idle ? options_.idle_gap : options_.least_gap));
}

void StreamReader::AddRecords(const ReadShard& shard, const StoredRecord& stored,
                              ReaderStep& step) {
  ++stats_.kinesis_records;
  const auto views = Deaggregate(stored.partition_key, stored.data, shard.range);
  if (!views) {
    ++stats_.damaged;
    if (!stats_.first_damage) {
      stats_.first_damage = Error{views.error().code,
                                  fmt::format("{}, sequence number {}: {}", FormatShardId(shard.id),
                                              stored.sequence_number, views.error().message)};
    }
    return;
  }
  if (views->empty()) ++stats_.dropped;
  for (std::uint64_t place = 0; const UserRecordView& view : *views) {
    step.records.push_back({shard.id, stored.sequence_number, place++,
                            std::string(view.partition_key), std::string(view.data)});
  }
  stats_.records += views->size();
}

}  // namespace weir::kinesis
