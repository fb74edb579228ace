// Drives the pipeline of one producer over its wire format, in simulated time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "weir/kinesis/pipeline/pipeline.h"
#include "weir/kinesis/wire/wire.h"
#include "weir/sim/kinesis/sim_kinesis.h"
#include "weir/sim/sim_network.h"
#include "weir/sim/sim_scheduler.h"

namespace weir::simulation {

inline constexpr const char* kStreamName = "stream";

struct ProducerEnvironment {
  sim::SimScheduler& scheduler;
  sim::SimServer& server;
  nanoseconds timeout;  ///< the timeout of a request
};

/// Not copyable: callbacks and wake-ups refer to it. `place` and `done` must outlive it, and it
/// must outlive the last task of the scheduler.
class StreamProducer {
 public:
  using Done = std::function<void(kinesis::RecordResult)>;

  StreamProducer(const ProducerEnvironment& place, const kinesis::PipelineOptions& options,
                 std::uint64_t seed, Done done);
  StreamProducer(const StreamProducer&) = delete;
  StreamProducer& operator=(const StreamProducer&) = delete;

  void Put(kinesis::UserRecord record) { Follow(pipeline_.Put(std::move(record), Now())); }
  /// Lists the shards before the first put.
  void Begin() { Follow(pipeline_.OnWake(Now())); }
  void Flush() { Follow(pipeline_.Flush(Now())); }
  sim::SimTransport& network() { return network_; }
  std::size_t pending() const { return pipeline_.pending(); }
  /// The largest numbers of requests and of listings that were in flight at once.
  std::size_t max_in_flight() const { return max_in_flight_; }
  std::size_t max_listings() const { return max_listings_; }

 private:
  using ResponseDone = std::function<void(tl::expected<std::string, AwsFailure>)>;

  Instant Now() const { return place_.scheduler.clock().Now(); }
  // Carries out the steps of the pipeline.
  void Follow(kinesis::PipelineStep step);
  void Put(std::uint64_t id, const std::vector<kinesis::KinesisRecord>& records);
  void List(std::string_view token);
  void Call(const std::string& operation, std::string body, ResponseDone done);
  void WakeAt(std::optional<Instant> when);

  ProducerEnvironment place_;
  kinesis::Pipeline pipeline_;
  sim::SimTransport network_;
  Done done_;
  std::optional<TimerId> timer_;
  std::size_t in_flight_ = 0;
  std::size_t max_in_flight_ = 0;
  std::size_t listings_ = 0;
  std::size_t max_listings_ = 0;
};

}  // namespace weir::simulation
