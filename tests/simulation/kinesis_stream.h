// Producers on one simulated stream: what they put, what they were told, what a consumer delivers.
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

/// Producer and number.
using RecordName = std::pair<std::size_t, std::uint64_t>;

/// One record that was put. Its data begins with its name or, where it has no room for that, its
/// partition key is the name.
struct PutRecord {
  std::string partition_key;
  std::optional<std::string> explicit_hash_key;
  std::string data;
  kinesis::HashKey hash = 0;
  Instant expires;
  std::vector<kinesis::RecordResult> results{};
  Instant told{};  ///< the last of them
};

/// "#3.17;" and back; nothing for all else.
std::string WriteName(const RecordName& name);
std::optional<RecordName> ReadName(std::string_view text);

/// A run: each producer puts at random times for as long as the scenario says, and everything is
/// then let go to its end.
class StreamRun {
 public:
  StreamRun(const StreamScenario& scenario, std::uint64_t seed);

  /// False if something was still scheduled at the end.
  bool Run();

  const StreamScenario& scenario() const { return scenario_; }
  /// Read it without faults: set `faults` to none.
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
  std::vector<kinesis::PipelineOptions> options_;  ///< of the producers
  std::vector<std::unique_ptr<StreamProducer>> producers_;
  Instant end_;
};

}  // namespace weir::simulation
