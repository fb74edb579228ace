// Runs a StreamConsumer: sends its requests, and passes its batches to the caller.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "weir/aws/json_client.h"
#include "weir/aws/service_connection.h"
#include "weir/base/done.h"
#include "weir/dynamodb/streams/consumer_step.h"
#include "weir/dynamodb/streams/lease_store.h"
#include "weir/dynamodb/table.h"
#include "weir/runtime/scheduler.h"

namespace weir::dynamo {

/// Opens a connection to DynamoDB Streams. An empty region or endpoint is found as LocateService
/// does for "dynamodb_streams". A local engine has one endpoint for DynamoDB and its streams.
/// Returns the errors of ServiceConnection::Open; `clock` must be real and outlive the connection.
[[nodiscard]] Result<std::unique_ptr<ServiceConnection>> ConnectToStreams(
    const std::string& region, const std::string& endpoint, const Clock& clock,
    const HostEnvironment& environment, Log* log = nullptr);

/// Returns the ARN of the table's latest stream; kFailedPrecondition if the table has none, or one
/// without the old and the new images.
void FindStream(Table& table, Deadline deadline, Done<std::string> done);

/// Called on the scheduler's thread; they must not block.
struct StreamHandlers {
  /// Gets a batch. `completed` may be called on any thread, at most once, before `ended` is called.
  /// `is_applied` is false if the batch is given up (StreamConsumer::OnAbandoned). A batch whose
  /// `completed` is destroyed uncalled stays in flight.
  std::function<void(ChangeBatch batch, std::function<void(bool is_applied)> completed)> batch;
  std::function<void(const ConsumerEvent&)> event;
  /// The last call: no request is in flight any more. Gets the error that ended the reading, if
  /// any.
  std::function<void(const Status&)> ended;
};

struct StreamParts {
  JsonClient& client;  ///< the client of DynamoDB Streams
  Scheduler& scheduler;
  LeaseStore& leases;
};

struct StreamState {
  std::size_t shards = 0;          ///< read by this process
  std::size_t damaged_leases = 0;  ///< leases that cannot be read (LeaseDamaged)
};

/// Thread-safe, except state(). The parts must live until `ended` is called. Destroying the
/// StreamRun earlier does not end the reading.
class StreamRun {
 public:
  /// Begins to read. `seed` seeds the random pauses; each process should have its own.
  StreamRun(const StreamParts& parts, StreamHandlers handlers, ConsumerOptions options,
            std::uint64_t seed);
  ~StreamRun();
  StreamRun(const StreamRun&) = delete;
  StreamRun& operator=(const StreamRun&) = delete;

  /// Ends the reading as StreamConsumer::Drain does.
  void Drain();
  /// Ends the reading as soon as no request is in flight. It does not store the positions that are
  /// not stored yet, and does not wait for batches in flight. `ended` gets kCancelled.
  void Stop();
  /// Must be called on the scheduler's thread.
  StreamState state() const;

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace weir::dynamo
