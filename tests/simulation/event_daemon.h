// A process that reads a queue of events and releases the slots of resources that have ended, as
// `weir reservation events` does.
#pragma once

#include <cstdint>
#include <memory>

#include "weir/events/event_releaser.h"
#include "weir/events/sqs_source.h"
#include "weir/events/testing/scripted_queue_fixture.h"
#include "weir/rate_limiter_py/tables_backend.h"
#include "weir/sim/dynamodb/sim_dynamo.h"
#include "weir/sim/sim_scheduler.h"
#include "weir/zae_table/testing/sim_process_fixture.h"

namespace weir::simulation {

/// The bug of a daemon, for the test that each bug is found.
enum class EventBug {
  kNone,
  kNoTombstoneAfterRelease,  ///< the end is stored only if no slot was released
  kDeletesBeforeSettled,     ///< a message is deleted when it is received
};

/// The environment of a daemon. All of it must outlive the daemon.
struct EventWorld {
  sim::SimScheduler& scheduler;
  sim::SimDynamo& server;
  ScriptedQueue& queue;
  const rate_limiter_py::TableNames& names;
};

class EventDaemon {
 public:
  EventDaemon(const EventWorld& world, std::uint64_t seed, EventBug bug);
  ~EventDaemon();

  /// Cuts the daemon off; requests that were sent still arrive. The object must not be destroyed
  /// before the scheduler is idle.
  void Crash();
  void Stop(Done<void> done);
  sim::SimTransport& network() { return process_.network(); }
  const sim::NetworkCounts& faults_met() const { return process_.network().counts(); }

 private:
  class Forgetful;

  dynamo::SimProcess process_;
  rate_limiter_py::TablesBackend tables_;
  std::unique_ptr<ReservationBackend> forgetful_;  // null without kNoTombstoneAfterRelease
  std::unique_ptr<EventReleaser> releaser_;
  std::unique_ptr<SqsSource> source_;
};

}  // namespace weir::simulation
