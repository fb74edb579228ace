// The handlers of gRPC calls.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "weir/base/result.h"
#include "weir/grpc/request_ids.h"
#include "weir/runtime/deadline.h"
#include "weir/runtime/scheduler.h"

namespace weir::grpc {

struct CallState;

/// The metadata of a call for its handler. Valid until the handler returns.
struct CallHead {
  /// Until when the caller waits (`grpc-timeout`), on the loop's clock.
  Deadline deadline = Deadline::Never();
  std::string_view authorization;  ///< empty if there is none
  const RequestIds& ids;
  Scheduler& loop;
};

/// What the caller of a failed call receives in addition to the code and the message.
struct ErrorDetails {
  /// A serialized google.rpc.Status (`grpc-status-details-bin`); empty: none is sent.
  std::string status;
};

/// Sends the response of a call. May outlive the call: then nothing is sent. Copies write to the
/// same call. Used on the thread of the connection's loop only.
///
/// A call counts as in flight (ServerBounds::max_calls) until its last CallWriter is gone, even
/// if the caller has gone before.
class CallWriter {
 public:
  explicit CallWriter(std::shared_ptr<CallState> state) : state_(std::move(state)) {}

  /// Sends a message. Messages that the peer does not take are buffered, within
  /// ServerBounds::max_pending and max_connection_pending; a call that exceeds these bounds ends.
  void Send(std::string_view message) const;
  /// Ends the call. The message of an error is sent to the caller, and its `retry_after` as
  /// `grpc-retry-pushback-ms` (gRPC's proposal A6), which clients that retry by themselves obey.
  void Finish(const Status& status, const ErrorDetails& details = {}) const;
  /// Sends the response of a unary call.
  void Reply(std::string_view message) const {
    Send(message);
    Finish({});
  }
  /// Returns whether the caller still waits.
  bool is_open() const;

 private:
  std::shared_ptr<CallState> state_;
};

/// The handler of a call with several messages, made for each call. Destroyed with the stream of
/// the call. After CallWriter::Finish no function is called. Runs on the loop's thread.
class CallHandler {
 public:
  virtual ~CallHandler() = default;
  /// `message` is valid until this returns.
  virtual void OnMessage(std::string_view message) = 0;
  /// The caller sends no more messages.
  virtual void OnHalfClose() = 0;
};

/// A unary method: one message, for which `writer` gets one Reply, or Finish with an error, at once
/// or later. The views are valid until the method returns.
using UnaryMethod =
    std::function<void(const CallHead& head, std::string_view message, CallWriter writer)>;
/// A method with streams of messages in either direction.
using StreamMethod =
    std::function<std::unique_ptr<CallHandler>(const CallHead& head, CallWriter writer)>;

}  // namespace weir::grpc
