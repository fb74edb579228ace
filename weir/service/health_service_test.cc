#include "weir/service/health_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "grpc/health/v1/health.pb.h"
#include "grpc/reflection/v1/reflection.pb.h"
#include "grpc/reflection/v1alpha/reflection.pb.h"
#include "weir/grpc/message_reader.h"
#include "weir/grpc/server.h"
#include "weir/http2/testing/http2_client_fixture.h"
#include "weir/service/reflection_service.h"
#include "weir/sim/sim_scheduler.h"

namespace weir::service {
namespace {

using HealthResponse = ::grpc::health::v1::HealthCheckResponse;
using testing::ElementsAre;
using testing::IsSupersetOf;

// The services that tools use to look at a server.
class ServerServicesTest : public testing::Test {
 protected:
  ServerServicesTest() {
    methods_.Add("test.Service", "Nothing",
                 grpc::UnaryMethod([](const auto&, auto, auto writer) { writer.Reply(""); }));
    AddReflection(methods_);
    health_.AddTo(methods_);
    health_.SetServing(true);
    client_.Exchange(scheduler_.clock().Now());
  }

  void Exchange() { client_.Exchange(scheduler_.clock().Now()); }
  // Begins a call whose first message is `request`.
  template <class Request>
  std::int32_t Begin(const std::string& path, const Request& request, bool is_end) {
    const auto id = client_.Begin({{":method", "POST"},
                                   {":scheme", "http"},
                                   {":path", path},
                                   {":authority", "h"},
                                   {"content-type", "application/grpc"}},
                                  false);
    Send(id, request, is_end);
    return id;
  }
  template <class Request>
  void Send(std::int32_t id, const Request& request, bool is_end) {
    const std::string bytes = request.SerializeAsString();
    client_.Send(id, grpc::MessagePrefix(bytes.size()) + bytes, is_end);
    Exchange();
  }
  // Returns the messages of a response.
  template <class Response>
  std::vector<Response> Messages(std::int32_t id) {
    std::vector<Response> messages;
    grpc::MessageReader reader(1'000'000);
    EXPECT_TRUE(reader.Add(client_.response(id).body, [&](const auto& message) {
      messages.emplace_back();
      EXPECT_TRUE(messages.back().ParseFromString(std::string(message.bytes)));
    }));
    return messages;
  }
  std::string StatusOf(std::int32_t id) { return client_.response(id).fields.at("grpc-status"); }

  std::int32_t AskHealth(const std::string& method, const std::string& service,
                         bool is_end = true) {
    ::grpc::health::v1::HealthCheckRequest request;
    request.set_service(service);
    return Begin("/grpc.health.v1.Health/" + method, request, is_end);
  }
  std::vector<HealthResponse::ServingStatus> HealthOf(std::int32_t id) {
    std::vector<HealthResponse::ServingStatus> statuses;
    for (const auto& message : Messages<HealthResponse>(id)) statuses.push_back(message.status());
    return statuses;
  }

  sim::SimScheduler scheduler_;
  grpc::MethodTable methods_;
  HealthService health_;
  grpc::ServerCounts server_counts_;
  grpc::ServerTerms terms_{.methods = methods_, .connection = {}, .calls = {}};
  std::unique_ptr<transport::Connection> server_ = grpc::ServeConnection(
      terms_, server_counts_, {.peer = {}, .loop = scheduler_, .changed = [] {}});
  http2::Http2Client client_{*server_};
};

TEST_F(ServerServicesTest, CheckKnowsTheServerAndItsServices) {
  EXPECT_THAT(HealthOf(AskHealth("Check", "")), ElementsAre(HealthResponse::SERVING));
  EXPECT_THAT(HealthOf(AskHealth("Check", "test.Service")), ElementsAre(HealthResponse::SERVING));
  EXPECT_EQ(StatusOf(AskHealth("Check", "other")), "5");
  health_.SetServing(false);
  EXPECT_THAT(HealthOf(AskHealth("Check", "")), ElementsAre(HealthResponse::NOT_SERVING));
}

TEST_F(ServerServicesTest, ListHasAllServices) {
  const auto id = AskHealth("List", "");
  const auto messages = Messages<::grpc::health::v1::HealthListResponse>(id);
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].statuses().at("test.Service").status(), HealthResponse::SERVING);
}

TEST_F(ServerServicesTest, WatchReportsEachChange) {
  const auto id = AskHealth("Watch", "test.Service", /*is_end=*/true);
  const auto unknown = AskHealth("Watch", "other", /*is_end=*/true);
  health_.SetServing(false);
  health_.SetServing(false);
  health_.SetServing(true);
  Exchange();
  EXPECT_THAT(HealthOf(id), ElementsAre(HealthResponse::SERVING, HealthResponse::NOT_SERVING,
                                        HealthResponse::SERVING));
  EXPECT_THAT(HealthOf(unknown), ElementsAre(HealthResponse::SERVICE_UNKNOWN));
}

// Fails if: a drain lasts until its deadline because a client watches.
TEST_F(ServerServicesTest, WatchesEndWithTheServer) {
  const auto id = AskHealth("Watch", "", /*is_end=*/true);
  health_.End();
  Exchange();
  const auto later = AskHealth("Watch", "test.Service", /*is_end=*/true);
  EXPECT_THAT(HealthOf(id), ElementsAre(HealthResponse::SERVING, HealthResponse::NOT_SERVING));
  EXPECT_THAT(HealthOf(later), ElementsAre(HealthResponse::NOT_SERVING));
  EXPECT_EQ(StatusOf(id), "14");
  EXPECT_EQ(StatusOf(later), "14");
}

// Fails if: a change is sent to a watcher that has gone.
TEST_F(ServerServicesTest, AWatcherThatHasGoneIsForgotten) {
  const auto id = AskHealth("Watch", "", /*is_end=*/true);
  client_.Reset(id);
  Exchange();
  health_.SetServing(false);
  EXPECT_THAT(HealthOf(id), ElementsAre(HealthResponse::SERVING));
}

TEST_F(ServerServicesTest, ReflectionListsServicesAndTheirFilesWithImports) {
  using Request = ::grpc::reflection::v1::ServerReflectionRequest;
  using Response = ::grpc::reflection::v1::ServerReflectionResponse;
  Request request;
  request.set_list_services("");
  const auto id =
      Begin("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", request, false);
  request.set_file_containing_symbol("grpc.health.v1.Health");
  Send(id, request, false);
  request.set_file_by_filename("no.proto");
  Send(id, request, true);
  const auto messages = Messages<Response>(id);
  ASSERT_EQ(messages.size(), 3U);
  std::vector<std::string> names;
  for (const auto& service : messages[0].list_services_response().service()) {
    names.push_back(service.name());
  }
  EXPECT_THAT(names, IsSupersetOf({"test.Service", "grpc.health.v1.Health"}));
  EXPECT_EQ(messages[1].file_descriptor_response().file_descriptor_proto_size(), 1);
  EXPECT_EQ(messages[2].error_response().error_code(), 5);
  EXPECT_EQ(StatusOf(id), "0");
}

// Fails if: the linker drops the files of which no message is used.
TEST_F(ServerServicesTest, ReflectionHasTheFileOfEachService) {
  for (const char* service : {"envoy.service.ratelimit.v3.RateLimitService",
                              "kuadrant.service.ratelimit.v1.RateLimitService"}) {
    ::grpc::reflection::v1::ServerReflectionRequest request;
    request.set_file_containing_symbol(service);
    const auto id =
        Begin("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", request, true);
    const auto messages = Messages<::grpc::reflection::v1::ServerReflectionResponse>(id);
    ASSERT_EQ(messages.size(), 1U);
    EXPECT_GT(messages[0].file_descriptor_response().file_descriptor_proto_size(), 0) << service;
  }
}

TEST_F(ServerServicesTest, ReflectionAlsoHasItsOlderName) {
  ::grpc::reflection::v1alpha::ServerReflectionRequest request;
  request.set_file_containing_symbol("grpc.health.v1.HealthCheckRequest");
  const auto id =
      Begin("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", request, true);
  const auto messages = Messages<::grpc::reflection::v1alpha::ServerReflectionResponse>(id);
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_GT(messages[0].file_descriptor_response().file_descriptor_proto_size(), 0);
}

}  // namespace
}  // namespace weir::service
