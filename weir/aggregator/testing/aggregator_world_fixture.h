// A simulated table whose buckets are used, its stream, and aggregators that fail in every way.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/aggregator/aggregator.h"
#include "weir/aggregator/testing/change_stream_fixture.h"
#include "weir/telemetry/testing/recording_log_fixture.h"
#include "weir/zae_table/testing/zae_sim_table.h"

namespace weir::dynamo {

struct WorldFaults {
  double lost_response = 0.1;  ///< the request is carried out
  double throttle = 0.1;       ///< it is not
  double late = 0.05;       ///< no response; it is carried out at some time, perhaps after a crash
  double redelivery = 0.2;  ///< a batch begins before the checkpoint
  double crash = 0.02;
  double pause = 0.01;  ///< a process does nothing for longer than the lease lasts
  double split = 0.01;
};

class AggregatorWorld {
 public:
  AggregatorWorld(std::uint64_t seed, WorldFaults faults);
  ~AggregatorWorld();

  /// Runs random steps of clients and of two aggregators.
  void Run(int steps);
  /// Runs without faults until all records are processed.
  void Quiesce();
  /// Returns the differences between the table and the archive, and the clients' actions.
  std::vector<std::string> Findings();

  /// The events of one run, or of several.
  struct Tally {
    std::uint64_t batches = 0;
    std::uint64_t failed_batches = 0;
    std::uint64_t crashes = 0;
    std::uint64_t takeovers = 0;  ///< a process acquired the lease that another one had
    std::uint64_t late_writes = 0;
    std::uint64_t conflicts = 0;
    std::uint64_t throttles = 0;
    std::uint64_t lost_responses = 0;
    std::uint64_t redeliveries = 0;  ///< batches that begin before the checkpoint
    std::uint64_t pauses = 0;
    std::uint64_t splits = 0;
    std::uint64_t archived = 0;  ///< objects

    Tally& operator+=(const Tally& other);
  };
  const Tally& tally() const { return tally_; }

 private:
  class Process;

  void Act();      // of clients
  void Consume();  // on one shard of a bucket
  void Audit();    // writes an event that expires soon
  void StepProcess(std::size_t index);
  void RunLate();
  tl::expected<WriteResponse, WriteFailure> Apply(const Write& write);
  void PutObject(const ArchiveObject& object) { archive_[object.key] = object.body; }
  std::vector<std::string> UsageFindings();
  std::vector<std::string> ArchiveFindings();
  Instant now() const { return sim_.scheduler.clock().Now(); }
  ProtocolTime moment() const {
    return {.at = now(), .bucket_time = sim_.scheduler.clock().WallNow()};
  }

  Rng rng_;
  WorldFaults faults_;
  ZaeSimTable sim_;
  ChangeStream stream_;
  RecordingLog log_;
  AggregatorOptions options_;
  std::vector<std::unique_ptr<Process>> processes_;
  int started_ = 0;                             // processes
  std::optional<int> holder_;                   // number of the last process with the lease
  std::map<std::string, std::size_t> applied_;  // checkpoints: records by stream shard
  std::deque<Write> late_;
  std::map<std::string, std::string> archive_;    // bodies by key
  std::map<std::string, std::int64_t> consumed_;  // millitokens by window and limit
  std::map<std::string, std::int64_t> events_;    // by window
  std::vector<std::string> audited_;              // ids of events
  std::vector<std::string> findings_;
  Tally tally_;
};

}  // namespace weir::dynamo
