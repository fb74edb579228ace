// Producers on one simulated stream: their puts, their results, and the records that a consumer
// delivers.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/stream_producer.h"
#include "tests/simulation/stream_scenario.h"
#include "weir/base/rng.h"

namespace weir::simulation {

/// The number of the producer, and of its record.
using RecordName = std::pair<std::size_t, std::uint64_t>;

/// One record that was put. Its data begins with its name; if the data is too short, its partition
/// key is the name.
struct PutRecord {
  std::string partition_key;
  std::optional<std::string> explicit_hash_key;
  std::string data;
  kinesis::HashKey hash = 0;
  Instant expires;
  std::vector<kinesis::RecordResult> results{};
  Instant told{};  ///< the time of the last result
};

/// Convert a name to "#3.17;" and back. ReadName returns nothing for any other text.
std::string WriteName(const RecordName& name);
std::optional<RecordName> ReadName(std::string_view text);

/// A run: each producer puts at random times during the scenario's time, and then all records get
/// their results.
class StreamRun {
 public:
  StreamRun(const StreamScenario& scenario, std::uint64_t seed);

  /// Returns false if a task was still scheduled at the end.
  bool Run();

  const StreamScenario& scenario() const { return scenario_; }
  /// Returns the stream. To read it without faults, set `faults` to none.
  sim::SimKinesis& server() { return server_; }
  const std::map<RecordName, PutRecord>& records() const { return records_; }
  const std::vector<std::unique_ptr<StreamProducer>>& producers() const { return producers_; }
  bool IsOrdered(std::size_t producer) const { return options_[producer].ordered; }

 private:
  Instant Now() const { return scheduler_.clock().Now(); }
  kinesis::PipelineOptions DrawOptions();
  void PutSome(std::size_t producer);
  void PutOne(std::size_t producer);
  std::size_t DrawSize();
  std::string DrawBytes(std::size_t size);
  PutRecord Draw(const RecordName& name);
  void Take(std::size_t producer, kinesis::RecordResult result);

  StreamScenario scenario_;
  Rng rng_;
  sim::SimScheduler scheduler_;
  sim::SimKinesis server_;
  std::map<RecordName, PutRecord> records_;
  std::vector<std::uint64_t> numbers_;
  std::vector<kinesis::PipelineOptions> options_;  ///< the options of the producers
  std::vector<std::unique_ptr<StreamProducer>> producers_;
  Instant end_;
};

}  // namespace weir::simulation
