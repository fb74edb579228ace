#include "tests/simulation/kinesis_stream.h"

#include <fmt/format.h>

#include <algorithm>

#include "weir/base/integer_text.h"

namespace weir::simulation {
namespace {

using kinesis::AggregatorOptions;

constexpr std::int64_t kKiB = 1024;
constexpr std::size_t kMaxInFlight[] = {2, 6, 24};
constexpr std::size_t kAggregates[] = {300, 2000, 51'200};
constexpr std::size_t kEntries[] = {4, 50, 500};

template <class T, std::size_t n>
T OneOf(const T (&choices)[n], Rng& rng) {
  return choices[rng.Below(n)];
}

Quota LimitOf(std::int64_t rate, std::int64_t percent) {
  return PerSecond(rate).Burst(rate * percent / 100);
}

}  // namespace

std::string WriteName(const RecordName& name) {
  return fmt::format("#{}.{};", name.first, name.second);
}

std::optional<RecordName> ReadName(std::string_view text) {
  const std::size_t dot = text.find('.');
  const std::size_t end = text.find(';');
  if (!text.starts_with('#') || dot == text.npos || end == text.npos || end < dot) {
    return std::nullopt;
  }
  const auto producer = ReadInteger<std::size_t>(text.substr(1, dot - 1));
  const auto number = ReadInteger<std::uint64_t>(text.substr(dot + 1, end - dot - 1));
  if (!producer || !number) return std::nullopt;
  return RecordName(*producer, *number);
}

StreamRun::StreamRun(const StreamScenario& scenario, std::uint64_t seed)
    : scenario_(scenario),
      rng_(seed),
      scheduler_(rng_.Next()),
      server_(scheduler_.clock(), rng_.Next(), scenario.options),
      numbers_(static_cast<std::size_t>(scenario.producers), 0),
      end_(Now() + scenario.run) {
  server_.CreateStream(kStreamName, scenario.shards);
  server_.faults = scenario.faults;
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    options_.push_back(DrawOptions());
    producers_.push_back(std::make_unique<StreamProducer>(
        ProducerEnvironment{scheduler_, server_, scenario.timeout}, options_.back(), rng_.Next(),
        [this, i](kinesis::RecordResult result) { Take(i, std::move(result)); }));
    producers_.back()->network().faults = scenario.network;
    scheduler_.Post([this, i] {
      producers_[i]->Begin();
      PutSome(i);
    });
  }
}

bool StreamRun::Run() { return scheduler_.RunAll(); }

kinesis::PipelineOptions StreamRun::DrawOptions() {
  kinesis::PipelineOptions options;
  const std::int64_t rate = scenario_.shard_rate;
  options.limiter.records = LimitOf(rate, scenario_.burst);
  options.limiter.bytes = LimitOf(rate * kKiB, scenario_.burst);
  constexpr AggregatorOptions::Mode kModes[] = {
      AggregatorOptions::Mode::kByShard, AggregatorOptions::Mode::kByShard,
      AggregatorOptions::Mode::kByKey, AggregatorOptions::Mode::kSeparately};
  options.aggregator.mode = OneOf(kModes, rng_);
  options.aggregator.max_bytes = OneOf(kAggregates, rng_);
  if (scenario_.calm) return options;
  options.collector.max_count = OneOf(kEntries, rng_);
  options.window.max_requests = OneOf(kMaxInFlight, rng_);
  options.ordered = rng_.Below(3) == 0;
  return options;
}

// Sometimes puts many records at once, or none for a while.
void StreamRun::PutSome(std::size_t producer) {
  if (Now() >= end_) return;
  const std::uint64_t some = rng_.Below(20) == 0 ? 1 + rng_.Below(60) : 1;
  for (std::uint64_t i = 0; i < some; ++i) PutOne(producer);
  if (rng_.Below(50) == 0) producers_[producer]->Flush();
  // Every twentieth put is about thirty records.
  const std::int64_t mean = 1'000'000'000 / scenario_.puts * 5 / 2;
  scheduler_.At(Now() + nanoseconds(rng_.Between(0, 2 * mean)),
                [this, producer] { PutSome(producer); });
}

void StreamRun::PutOne(std::size_t producer) {
  const RecordName name(producer, numbers_[producer]++);
  PutRecord put = Draw(name);
  kinesis::UserRecord record{.number = name.second,
                             .partition_key = put.partition_key,
                             .explicit_hash_key = put.explicit_hash_key,
                             .data = put.data,
                             .deadline = Now() + milliseconds(rng_.Between(0, 150)),
                             .expires = put.expires};
  record.hash = put.hash;
  records_.emplace(name, std::move(put));
  producers_[producer]->Put(std::move(record));
}

std::size_t StreamRun::DrawSize() {
  if (rng_.Chance(scenario_.large)) {
    return static_cast<std::size_t>(rng_.Between(60 * kKiB, scenario_.shard_rate * kKiB / 2));
  }
  const std::uint64_t sort = rng_.Below(100);
  if (sort < 80) return rng_.Below(200);
  return sort < 99 ? rng_.Below(4 * kKiB) : rng_.Below(60 * kKiB);
}

std::string StreamRun::DrawBytes(std::size_t size) {
  std::string bytes;
  bytes.reserve(size + 8);
  while (bytes.size() < size) {
    const std::uint64_t eight = rng_.Next();
    bytes.append(reinterpret_cast<const char*>(&eight), 8);
  }
  bytes.resize(size);
  return bytes;
}

// Draws a record. Some have explicit hash keys, and some look like an aggregate.
PutRecord StreamRun::Draw(const RecordName& name) {
  const std::string text = WriteName(name);
  PutRecord put{.partition_key = fmt::format("key{}", rng_.Below(60)),
                .explicit_hash_key = std::nullopt,
                .data = DrawBytes(DrawSize()),
                .expires = Now() + nanoseconds(rng_.Between(scenario_.ttl.count() / 4,
                                                            scenario_.ttl.count()))};
  if (rng_.Below(8) == 0) {
    const std::uint64_t high = rng_.Next();
    put.explicit_hash_key = kinesis::FormatHashKey(absl::MakeUint128(high, rng_.Next()));
  }
  const bool looks_framed = rng_.Below(50) == 0;
  if (looks_framed) put.data.replace(0, 4, kinesis::kAggregateMagic);
  if (looks_framed || put.data.size() < text.size()) {
    put.partition_key = text;
  } else {
    put.data.replace(0, text.size(), text);
  }
  put.hash = put.explicit_hash_key ? *kinesis::ParseHashKey(*put.explicit_hash_key)
                                   : kinesis::HashOfPartitionKey(put.partition_key);
  return put;
}

void StreamRun::Take(std::size_t producer, kinesis::RecordResult result) {
  PutRecord& put = records_.at({producer, result.number});
  put.told = Now();
  put.results.push_back(std::move(result));
}

}  // namespace weir::simulation
