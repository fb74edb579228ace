#include "tests/simulation/stream_oracle.h"

#include <fmt/format.h>

#include <tuple>

namespace weir::simulation {
namespace {

using kinesis::RecordResult;

constexpr std::size_t kMaxMessages = 5;
/// The position of a delivery: shard, sequence number, index.
using Place = std::tuple<std::string, std::string, std::optional<std::uint64_t>>;

/// Returns the attempts of the record's result, each with its end in ms after the record expired.
std::string History(const PutRecord& put) {
  std::string history;
  for (const auto& attempt : put.results.front().attempts.kept()) {
    history += fmt::format("{} {}", history.empty() ? " (" : ", ",
                           attempt->succeeded() ? "stored" : attempt->code);
    history += fmt::format(" at {} ms", (attempt->ended - put.expires) / milliseconds(1));
  }
  return history + ")";
}

class Audit {
 public:
  explicit Audit(StreamRun& run) : run_(run) {}

  void ReadDeliveries() {
    run_.server().faults = {};
    const std::vector<sim::Delivery> delivered = Consume(run_.server());
    const std::size_t logged = run_.server().Delivered(kStreamName).size();
    if (delivered.size() != logged) {
      Add("a consumer delivers {} records, the log has {}", delivered.size(), logged);
    }
    for (const sim::Delivery& delivery : delivered) Note(delivery);
  }

  void CheckRecord(const RecordName& name, const PutRecord& put) {
    const std::string text = WriteName(name);
    if (put.results.size() != 1) return Add("{} has {} results", text, put.results.size());
    const RecordResult& result = put.results.front();
    const std::size_t copies = copies_[name];
    if (result.stored && copies == 0) {
      return Add("{} was acknowledged at {} and is not delivered{}", text, result.sequence_number,
                 History(put));
    }
    if (copies != (result.stored ? 1 : 0) && !result.maybe_duplicate) {
      return Add("{} is delivered {} times, but was told {} and no duplicate{}", text, copies,
                 result.stored ? "stored" : "failed", History(put));
    }
    if (result.stored) CheckPlace(text, name, result);
    const nanoseconds late = put.told - put.expires;
    if (late > kinesis::kLastWait) {
      Add("{} had its result {} ms after it expired{}", text, late / milliseconds(1), History(put));
    }
    if (run_.scenario().calm) CheckCalm(text, put);
  }

  /// In ordered mode, records of one hash key are delivered in the order of their puts. Records
  /// that may be duplicated are exempt: a copy may be late.
  void CheckOrder() {
    std::map<std::pair<std::size_t, kinesis::HashKey>, RecordName> latest;
    for (const auto& [name, put] : run_.records()) {
      const bool counts = run_.IsOrdered(name.first) && copies_[name] == 1 &&
                          put.results.size() == 1 && !put.results.front().maybe_duplicate;
      if (!counts) continue;
      const auto [before, first] = latest.try_emplace({name.first, put.hash}, name);
      if (!first && turns_[name] < turns_[before->second]) {
        Add("{} stands before {}, which was put before it{}", WriteName(name),
            WriteName(before->second), History(put));
      }
      before->second = name;
    }
  }

  void CheckProducers() {
    for (const auto& producer : run_.producers()) {
      if (producer->pending() != 0) Add("{} records are still pending", producer->pending());
      if (producer->max_in_flight() > 24) Add("{} requests at once", producer->max_in_flight());
      if (producer->max_listings() > 1) Add("{} listings at once", producer->max_listings());
    }
    const sim::KinesisCounts& counts = run_.server().counts();
    if (counts.invalid > 0) Add("{} requests were refused for what they said", counts.invalid);
    if (run_.scenario().calm && counts.over_limit > 0) {
      Add("{} records met their shard's limit", counts.over_limit);
    }
  }

  template <class... Args>
  void Add(fmt::format_string<Args...> format, Args&&... args) {
    if (messages_.size() < kMaxMessages) {
      messages_.push_back(fmt::format(format, std::forward<Args>(args)...));
    }
  }

  std::vector<std::string> Take() { return std::move(messages_); }

 private:
  // Assigns a delivered record to its put, by the name in its key or its data.
  void Note(const sim::Delivery& delivery) {
    auto name = ReadName(delivery.partition_key);
    if (!name) name = ReadName(delivery.data);
    const auto put = name ? run_.records().find(*name) : run_.records().end();
    if (put == run_.records().end()) {
      return Add("{} delivers what nobody put", delivery.sequence_number);
    }
    ++copies_[*name];
    places_[{delivery.shard, delivery.sequence_number, delivery.sub_number}] = *name;
    turns_[*name] = {delivery.sequence_number, delivery.sub_number.value_or(0)};
    const PutRecord& record = put->second;
    const bool same =
        record.data == delivery.data && record.partition_key == delivery.partition_key &&
        (!delivery.sub_number || record.explicit_hash_key == delivery.explicit_hash_key);
    if (!same) Add("{} is not delivered as it was put", WriteName(*name));
  }

  void CheckPlace(const std::string& text, const RecordName& name, const RecordResult& result) {
    if (!result.shard) return Add("{} was stored, and no shard is told", text);
    const auto there =
        places_.find({FormatShardId(*result.shard), result.sequence_number, result.sub_number});
    if (there == places_.end() || there->second != name) {
      Add("{} is not where its result says: {} in {}", text, result.sequence_number,
          FormatShardId(*result.shard));
    }
  }

  void CheckCalm(const std::string& text, const PutRecord& put) {
    const RecordResult& result = put.results.front();
    if (!result.stored || result.maybe_duplicate || result.attempts.count() != 1) {
      Add("{} took {} attempts{}", text, result.attempts.count(), History(put));
    }
  }

  StreamRun& run_;
  std::map<RecordName, std::size_t> copies_;
  std::map<Place, RecordName> places_;
  std::map<RecordName, std::pair<std::string, std::uint64_t>> turns_;
  std::vector<std::string> messages_;
};

}  // namespace

std::vector<std::string> Violations(StreamRun& run, bool ended) {
  Audit audit(run);
  if (!ended) audit.Add("something was still scheduled at the end");
  audit.CheckProducers();
  audit.ReadDeliveries();
  for (const auto& [name, put] : run.records()) audit.CheckRecord(name, put);
  audit.CheckOrder();
  return audit.Take();
}

}  // namespace weir::simulation
