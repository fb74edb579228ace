// Processes that share the stream of a simulated table, in simulated time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/rng.h"
#include "weir/dynamodb/streams/memory_leases.h"
#include "weir/dynamodb/streams/stream_consumer.h"
#include "weir/dynamodb/streams/testing/streams_client.h"
#include "weir/dynamodb/testing/sim_table.h"
#include "weir/sim/dynamodb/dynamo_table.h"

namespace weir::dynamo {

struct FleetOptions {
  std::uint64_t seed = 1;
  /// The longest delay of a request, and of a response.
  nanoseconds longest_trip = milliseconds(40);
  /// The longest time that a caller works on a batch.
  nanoseconds longest_work = milliseconds(300);
  double lost = 0;         ///< a response, also of a lease write that was applied, is lost
  double unavailable = 0;  ///< a request fails and is not applied
  std::size_t items = 20;  ///< that are written
  ConsumerOptions consumer{};
};

/// The record of a change, as a process got it.
struct Delivery {
  std::uint64_t number = 0;  ///< the number of the simulated stream, from 1
  std::string process;
  std::string shard;
  std::uint64_t epoch = 0;
};

/// Not thread-safe.
class StreamFleet {
 public:
  explicit StreamFleet(FleetOptions options);

  /// Starts a process with a new name, and returns it.
  std::string Start();
  /// The process ends without another action.
  void Kill(const std::string& process);
  void Drain(const std::string& process);
  bool IsDone(const std::string& process) const;
  /// Writes an item, or deletes it, `count` times with pauses of up to `longest_pause` in between.
  void Write(std::size_t count, nanoseconds longest_pause);
  /// Ends a drawn open shard.
  void ReplaceShard(bool split);
  void Run(nanoseconds time) { scheduler.Advance(time); }
  /// Runs until each record was completed, at most for this time. Returns whether they were.
  bool RunUntilRead(nanoseconds longest);

  /// Returns one line for each broken promise of StreamConsumer: order per item, one process for
  /// each epoch of a shard, and a gap if, and only if, records are missing.
  std::vector<std::string> FindFaults() const;
  /// Returns the leases and the clock, for messages.
  std::string Describe() const;
  /// Returns how often each record of the stream was delivered.
  std::map<std::uint64_t, int> CountDeliveries() const;
  std::size_t records() const { return server.Table(kTable)->stream().size(); }
  template <class Event>
  std::vector<Event> EventsOf() const {
    std::vector<Event> found;
    for (const ConsumerEvent& event : events) {
      if (const auto* one = std::get_if<Event>(&event)) found.push_back(*one);
    }
    return found;
  }

  static constexpr char kTable[] = "limits";
  sim::SimScheduler scheduler;
  sim::SimDynamo server;
  MemoryLeases leases;
  std::vector<Delivery> deliveries;
  std::vector<ConsumerEvent> events;
  std::vector<StreamGap> gaps;
  std::vector<StreamGap> completed_gaps;
  std::vector<Error> errors;
  /// The highest number of batches of one shard and process in flight at a time.
  std::size_t max_batches = 0;
  std::set<std::uint64_t> completed;  ///< records

 private:
  struct Process {
    Process(std::string its_name, ConsumerOptions consumer, std::uint64_t seed)
        : name(std::move(its_name)), machine(std::move(consumer), seed) {}
    std::string name;
    StreamConsumer machine;
    bool is_alive = true;
    bool is_done = false;
    std::optional<TimerId> timer{};
    std::map<std::string, std::size_t> batches{};  ///< in flight, by shard
  };
  using Shared = std::shared_ptr<Process>;

  Moment Now() const { return {scheduler.clock().Now(), scheduler.clock().WallNow()}; }
  nanoseconds Draw(nanoseconds longest) { return nanoseconds(rng_.Between(1, longest.count())); }
  template <class Work>
  void After(nanoseconds wait, Work work) {
    scheduler.At(scheduler.clock().Now() + wait, std::move(work));
  }
  void Handle(const Shared& process, ConsumerStep step);
  void Send(const Shared& process, ConsumerStep::Request request);
  void Send(const Shared& process, ConsumerStep::LeaseRequest request);
  void Deliver(const Shared& process, ChangeBatch batch);
  void WriteItem();

  const FleetOptions options_;
  StreamsClient client_{server};
  Rng rng_;
  std::string arn_;
  int started_ = 0;
  int written_ = 0;
  std::map<std::string, Shared> processes_;
};

}  // namespace weir::dynamo
