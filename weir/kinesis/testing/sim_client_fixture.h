// Sends the calls of a producer to a simulated stream, over its wire, in simulated time. Tests
// only.
#pragma once

#include <string>
#include <utility>

#include "weir/aws/json_client.h"
#include "weir/aws/response_classifier.h"
#include "weir/kinesis/wire/wire.h"
#include "weir/sim/sim_network.h"

namespace weir::kinesis {

class SimClient final : public JsonClient {
 public:
  SimClient(sim::SimTransport& network, WireFormat format) : network_(network), format_(format) {}

  void Call(JsonCall call, Deadline /*deadline*/, JsonDone done) override {
    HttpRequest request;
    request.headers = {{"content-type", std::string(ContentType(format_))},
                       {"x-amz-target", std::string(kTargetPrefix) + "." + call.operation}};
    request.body = std::move(call.body);
    network_.Send(std::move(request), {.response_timeout = std::chrono::seconds(1)},
                  [operation = std::move(call.operation), done = std::move(done)](
                      tl::expected<HttpResponse, HttpFailure> response) mutable {
                    done(ToReply(operation, std::move(response)));
                  });
  }

 private:
  static tl::expected<JsonReply, AwsFailure> ToReply(
      const std::string& operation, tl::expected<HttpResponse, HttpFailure> response) {
    weir::Attempt attempt =
        ClassifyResponse(std::move(response), {.operation = operation, .host = "stream"});
    if (attempt.result) return JsonReply{.body = *std::move(attempt.result)};
    AwsFailure failure = std::move(attempt.result.error());
    failure.maybe_applied = failure.kind == FailureClass::kAmbiguous;
    return tl::unexpected(std::move(failure));
  }

  sim::SimTransport& network_;
  WireFormat format_;
};

}  // namespace weir::kinesis
