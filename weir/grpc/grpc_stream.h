// A gRPC call on a stream of HTTP/2.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "weir/grpc/call.h"
#include "weir/grpc/call_state.h"
#include "weir/grpc/message_reader.h"
#include "weir/grpc/method_table.h"
#include "weir/grpc/server_bounds.h"
#include "weir/http2/stream.h"

namespace weir::grpc {

/// The context of the streams of a connection. It outlives them.
struct StreamContext {
  const MethodTable& methods;
  const ServerBounds& bounds;
  CallCounts& counts;
  Scheduler& loop;
  std::shared_ptr<ConnectionCalls> calls;
};

/// One request: a gRPC call, or another request, which gets a short text as its response.
class GrpcStream final : public http2::Stream {
 public:
  GrpcStream(const StreamContext& context, http2::StreamWriter writer);
  ~GrpcStream() override;

  void OnField(std::string_view name, std::string_view value) override;
  void OnHead() override;
  void OnData(std::string_view bytes) override;
  void OnEnd() override;
  void OnRequestTimeout() override;

  // For CallWriter.
  void Send(std::string_view message);
  void Finish(const Status& status, const ErrorDetails& details = {});
  bool is_over() const { return is_over_; }

 private:
  CallHead Head() const;
  // Stores the response to a request that is not a gRPC call: a status of HTTP and a text.
  void RefuseRequest(std::string_view status, std::string_view text);
  void Begin();
  void TakeMessage(const ReceivedMessage& message);
  // Decompresses the message if necessary, and passes it to the method.
  void Deliver(const ReceivedMessage& message);
  void Handle(std::string_view message);
  // Updates the connection's sum of kept bytes.
  void NoteKept();

  const StreamContext& context_;
  http2::StreamWriter writer_;
  std::string_view http_status_;  // of the response to a request that is not gRPC; else empty
  std::string_view http_text_;
  bool is_post_ = false;
  bool is_grpc_ = false;
  bool is_known_service_ = false;
  std::string unknown_path_;  // the path of a method that does not exist
  std::string authorization_;
  RequestIds ids_;
  std::optional<Error> bad_field_;
  Deadline deadline_ = Deadline::Never();
  MessageReader reader_;
  std::size_t kept_ = 0;
  const MethodTable::Entry* method_ = nullptr;
  std::shared_ptr<CallState> state_;
  std::unique_ptr<CallHandler> stream_handler_;
  std::optional<std::string> message_;  // of a unary call, as received, until the request ends
  bool is_compressed_ = false;          // message_ is
  TimerId deadline_timer_{};
  bool has_sent_ = false;
  bool is_over_ = false;
};

}  // namespace weir::grpc
