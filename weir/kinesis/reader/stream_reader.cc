#include "weir/kinesis/reader/stream_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weir::kinesis {

StreamReader::StreamReader(StreamAddress stream, const ReaderOptions& options, std::uint64_t seed)
    : stream_(std::move(stream)),
      options_(options),
      rng_(seed),
      listing_{
          .failure_series = {.backoff = Backoff(options.first_backoff, options.longest_backoff)}} {}

ReaderStep StreamReader::OnWake(Instant now) { return NextStep(now); }

ReaderStep StreamReader::OnAnswer(std::uint64_t id, const Answer& answer, Instant now) {
  const bool was_failing = failing_ > 0;
  ReaderStep step;
  Status status = HandleAnswer(id, answer, now, step);
  if (!status) {
    step.error = std::move(status.error());
    step.done = true;
    return step;
  }
  ReaderStep next = NextStep(now);
  next.records = std::move(step.records);
  next.recovered = was_failing && failing_ == 0;
  if (!was_failing && failing_ > 0) next.failing = std::exchange(first_failure_, std::nullopt);
  return next;
}

Status StreamReader::HandleAnswer(std::uint64_t id, const Answer& answer, Instant now,
                                  ReaderStep& step) {
  if (id == listing_.id) {
    listing_.id = 0;
    return OnListing(answer, now);
  }
  const auto asked = in_flight_.find(id);
  if (asked == in_flight_.end()) return {};
  Reading& reading = readings_.at(asked->second);
  in_flight_.erase(asked);
  return OnShard(reading, answer, now, step);
}

ReaderStep StreamReader::NextStep(Instant now) {
  ReaderStep step;
  OpenReady(now);
  if (listing_.wanted && listing_.id == 0 && listing_.due <= now)
    step.requests.push_back(MakeListRequest());
  while (!due_.empty() && due_.begin()->first <= now &&
         in_flight_.size() < options_.max_in_flight) {
    const ShardId id = due_.begin()->second;
    due_.erase(due_.begin());
    step.requests.push_back(MakeShardRequest(id));
  }
  step.wake = NextWake();
  step.done = is_done();
  return step;
}

ReaderStep::Request StreamReader::MakeListRequest() {
  listing_.wanted = false;
  listing_.id = next_id_++;
  return {listing_.id, "ListShards", ListAllShardsBody(stream_, listing_.token)};
}

ReaderStep::Request StreamReader::MakeShardRequest(ShardId id) {
  const Reading& reading = readings_.at(id);
  const std::uint64_t number = next_id_++;
  in_flight_.emplace(number, id);
  if (reading.stage == Stage::kBegins) {
    return {number, "GetShardIterator", GetShardIteratorBody(stream_, id, reading.position)};
  }
  return {number, "GetRecords", GetRecordsBody(stream_, reading.iterator, options_.page_records)};
}

std::optional<Instant> StreamReader::NextWake() const {
  std::optional<Instant> wake;
  if (listing_.wanted && listing_.id == 0) wake = listing_.due;
  if (!due_.empty() && in_flight_.size() < options_.max_in_flight) {
    wake = std::min(wake.value_or(due_.begin()->first), due_.begin()->first);
  }
  return wake;
}

bool StreamReader::is_done() const {
  const bool has_requests =
      listing_.wanted || listing_.id != 0 || !in_flight_.empty() || !due_.empty();
  const bool is_listing = listing_.wanted || listing_.id != 0;
  // With `only`, the reading ends with this shard, even if it follows.
  const bool is_over = options_.only && listed_ && !is_listing && ended_ == readings_.size();
  return is_over || (!options_.follow && !has_requests);
}

Status StreamReader::CheckReadable(const ReadShard& shard) const {
  const auto known = readings_.find(shard.id);
  if (known == readings_.end() || !known->second.is_missing || shard.closed) return {};
  return Fail(Code::kNotFound,
              fmt::format("shard {} is listed, but the service knows no such shard: the stream was "
                          "deleted and created again, or it is about to be deleted",
                          FormatShardId(shard.id)));
}

void StreamReader::AddShard(const ReadShard& shard, Instant now) {
  if (options_.only && *options_.only != shard.id) return;
  if (const auto at = readings_.find(shard.id); at != readings_.end()) {
    if (shard.closed) MarkClosed(at->second, now);
    return;
  }
  Reading reading{
      .shard = shard,
      .failure_series = {.backoff = Backoff(options_.first_backoff, options_.longest_backoff)}};
  // Shards that are found after the first listing are read from their beginning.
  if (!listed_) reading.position = options_.from;
  // A closed shard gets no records behind its present end.
  if (reading.position.at == Position::At::kLatest && shard.closed) {
    reading.stage = Stage::kEnded;
    ++ended_;
  }
  readings_.emplace(shard.id, std::move(reading));
}

// Its children wait until the shard is read to its end for good.
void StreamReader::MarkClosed(Reading& reading, Instant now) {
  reading.shard.closed = true;
  if (reading.stage == Stage::kCaughtUp) ScheduleRequest(reading, Stage::kReads, now);
}

void StreamReader::OpenReady(Instant now) {
  for (auto& [id, reading] : readings_) {
    if (reading.stage != Stage::kWaits) continue;
    const bool ready = std::ranges::all_of(reading.shard.parents, [&](ShardId parent) {
      const auto at = readings_.find(parent);
      // Only parents with a lower number count: shards that name each other as parents would never
      // begin.
      return at == readings_.end() || parent >= id || at->second.stage == Stage::kEnded ||
             reading.position.at == Position::At::kLatest;
    });
    if (ready) ScheduleRequest(reading, Stage::kBegins, now);
  }
}

void StreamReader::ScheduleRequest(Reading& reading, Stage stage, Instant due) {
  reading.stage = stage;
  due_.emplace(due, reading.shard.id);
}

void StreamReader::CloseShard(Reading& reading, const std::vector<ReadShard>& children,
                              Instant now) {
  reading.stage = Stage::kEnded;
  reading.shard.closed = true;
  EndFailures(reading.failure_series);
  ++ended_;
  if (options_.only) return;
  const auto known = [&](ShardId id) { return readings_.contains(id); };
  const bool all_known = std::ranges::all_of(
      children, [&](const ReadShard& child) { return std::ranges::all_of(child.parents, known); });
  // A child may have another parent that is not known yet. A listing shows whether the child must
  // wait for that parent.
  if (!all_known || (children.empty() && !HasChild(reading.shard.id))) {
    WantListing();
    return;
  }
  // The other parents of these children are closed, too, and may have records that are not read
  // yet.
  for (const ReadShard& child : children) {
    AddShard(child, now);
    for (const ShardId parent : child.parents) MarkClosed(readings_.at(parent), now);
  }
}

// The pages of a listing that runs may be older than the shards that are needed.
void StreamReader::WantListing() {
  const bool under_way = listing_.id != 0 || !listing_.token.empty();
  (under_way ? listing_.again : listing_.wanted) = true;
}

bool StreamReader::HasChild(ShardId parent) const {
  return std::ranges::any_of(readings_, [&](const auto& entry) {
    return std::ranges::count(entry.second.shard.parents, parent) > 0;
  });
}

}  // namespace weir::kinesis
