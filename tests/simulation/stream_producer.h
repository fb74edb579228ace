// Drives one producer's pipeline over its wire, in simulated time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "weir/kinesis/pipeline.h"
#include "weir/kinesis/wire.h"
#include "weir/sim/sim_kinesis.h"
#include "weir/sim/sim_network.h"
#include "weir/sim/sim_scheduler.h"

namespace weir::simulation {

inline constexpr const char* kStreamName = "stream";

struct StreamPlace {
  sim::SimScheduler& scheduler;
  sim::SimServer& server;
  nanoseconds timeout;  ///< of a request
};

/// Not copyable: answers and wake-ups come back to it. Place and `done` must outlive it, and it the
/// last task of the scheduler.
class StreamProducer {
 public:
  using Done = std::function<void(kinesis::RecordResult)>;

  StreamProducer(const StreamPlace& place, const kinesis::PipelineOptions& options,
                 std::uint64_t seed, Done done);
  StreamProducer(const StreamProducer&) = delete;
  StreamProducer& operator=(const StreamProducer&) = delete;

  void Put(kinesis::UserRecord record) { Follow(pipeline_.Put(std::move(record), Now())); }
  /// Makes itself known before the first put: it lists the shards.
  void Begin() { Follow(pipeline_.OnWake(Now())); }
  void Flush() { Follow(pipeline_.Flush(Now())); }
  sim::SimTransport& network() { return network_; }
  std::size_t pending() const { return pipeline_.pending(); }
  /// The most requests that were under way at once, and the most listings.
  std::size_t most_in_flight() const { return most_in_flight_; }
  std::size_t most_listings() const { return most_listings_; }

 private:
  using Answered = std::function<void(tl::expected<std::string, AwsFailure>)>;

  Instant Now() const { return place_.scheduler.clock().Now(); }
  void Follow(kinesis::PipelineStep step);
  void Put(std::uint64_t id, const std::vector<kinesis::KinesisRecord>& records);
  void List(std::string_view token);
  void Call(const std::string& operation, std::string body, Answered answered);
  void WakeAt(std::optional<Instant> when);

  StreamPlace place_;
  kinesis::Pipeline pipeline_;
  sim::SimTransport network_;
  Done done_;
  std::optional<TimerId> timer_;
  std::size_t in_flight_ = 0;
  std::size_t most_in_flight_ = 0;
  std::size_t listings_ = 0;
  std::size_t most_listings_ = 0;
};

}  // namespace weir::simulation
