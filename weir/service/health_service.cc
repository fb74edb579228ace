#include "weir/service/health_service.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>

#include "grpc/health/v1/health.pb.h"

namespace weir::service {
namespace {

// The generated names are in ::grpc; this library's calls are in weir::grpc.
using Request = ::grpc::health::v1::HealthCheckRequest;
using Response = ::grpc::health::v1::HealthCheckResponse;
using ListResponse = ::grpc::health::v1::HealthListResponse;

constexpr char kHealth[] = "grpc.health.v1.Health";

Response::ServingStatus StatusOf(bool is_serving) {
  return is_serving ? Response::SERVING : Response::NOT_SERVING;
}

std::optional<std::string> ServiceOf(std::string_view message,
                                     const weir::grpc::CallWriter& writer) {
  Request request;
  if (request.ParseFromArray(message.data(), static_cast<int>(message.size()))) {
    return request.service();
  }
  writer.Finish(Fail(Code::kInvalidArgument, "the message is not a HealthCheckRequest"));
  return std::nullopt;
}

}  // namespace

/// One call of Watch: sends the status of its service, and each change.
class HealthService::Watcher final : public weir::grpc::CallHandler {
 public:
  Watcher(HealthService& health, weir::grpc::CallWriter writer)
      : health_(health), writer_(std::move(writer)) {
    health_.watchers_.insert(this);
  }
  ~Watcher() override { health_.watchers_.erase(this); }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  void OnMessage(std::string_view message) override {
    if (service_) {
      return writer_.Finish(Fail(Code::kInvalidArgument, "a call of Watch has one message"));
    }
    service_ = ServiceOf(message, writer_);
    SendStatus();
  }
  void OnHalfClose() override {
    if (!service_) writer_.Finish(Fail(Code::kInvalidArgument, "a call of Watch has one message"));
  }
  void SendStatus() {
    if (!service_) return;
    Response response;
    response.set_status(health_.Knows(*service_) ? StatusOf(health_.is_serving_)
                                                 : Response::SERVICE_UNKNOWN);
    if (std::exchange(last_, response.status()) != response.status()) {
      writer_.Send(response.SerializeAsString());
    }
    if (health_.is_ended_) writer_.Finish(Fail(Code::kUnavailable, "the server ends"));
  }

 private:
  HealthService& health_;
  const weir::grpc::CallWriter writer_;
  std::optional<std::string> service_;
  std::optional<Response::ServingStatus> last_;
};

void HealthService::AddTo(weir::grpc::MethodTable& methods) {
  using weir::grpc::CallHead;
  using weir::grpc::CallWriter;
  methods.Add(
      kHealth, "Check",
      weir::grpc::UnaryMethod([this](const CallHead&, std::string_view message,
                                     const CallWriter& writer) { Check(message, writer); }));
  methods.Add(kHealth, "List",
              weir::grpc::UnaryMethod([this](const CallHead&, std::string_view,
                                             const CallWriter& writer) { List(writer); }));
  methods.Add(kHealth, "Watch",
              weir::grpc::StreamMethod([this](const CallHead&, CallWriter writer) {
                return std::make_unique<Watcher>(*this, std::move(writer));
              }));
  for (std::string& name : methods.services()) services_.insert(std::move(name));
}

void HealthService::SetServing(bool is_serving) {
  is_serving_ = is_serving;
  // This may end the call of a watcher that takes its messages too slowly. The watcher is removed
  // from `watchers_` only later.
  for (Watcher* watcher : watchers_) watcher->SendStatus();
}

void HealthService::End() {
  is_ended_ = true;
  SetServing(false);
}

void HealthService::Check(std::string_view message, const weir::grpc::CallWriter& writer) const {
  const auto service = ServiceOf(message, writer);
  if (!service) return;
  if (!Knows(*service)) {
    return writer.Finish(
        Fail(Code::kNotFound, fmt::format("there is no service '{}'", service->substr(0, 100))));
  }
  Response response;
  response.set_status(StatusOf(is_serving_));
  writer.Reply(response.SerializeAsString());
}

void HealthService::List(const weir::grpc::CallWriter& writer) const {
  ListResponse response;
  (*response.mutable_statuses())[""].set_status(StatusOf(is_serving_));
  for (const std::string& service : services_) {
    (*response.mutable_statuses())[service].set_status(StatusOf(is_serving_));
  }
  writer.Reply(response.SerializeAsString());
}

}  // namespace weir::service
