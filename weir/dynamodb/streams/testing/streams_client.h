// Calls on the streams of a simulated DynamoDB.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "weir/aws/json_client.h"
#include "weir/dynamodb/streams/stream_wire.h"
#include "weir/dynamodb/testing/sim_table.h"

namespace weir::dynamo {

/// Passes each call to the server and classifies the response. Does not retry. The server must
/// outlive it.
class StreamsClient final : public JsonClient {
 public:
  explicit StreamsClient(sim::SimServer& server) : server_(server) {}

  tl::expected<JsonReply, AwsFailure> Ask(const std::string& operation, const std::string& body) {
    const std::string target = fmt::format("{}.{}", kStreamsTargetPrefix, operation);
    return ReplyTo(operation,
                   server_.Handle({.headers = {{"x-amz-target", target}}, .body = body}));
  }
  void Call(JsonCall call, Deadline, JsonDone done) override {
    done(Ask(call.operation, call.body));
  }

 private:
  sim::SimServer& server_;
};

}  // namespace weir::dynamo
