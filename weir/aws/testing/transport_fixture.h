// Support for the tests of transports: both kinds of transport, and requests whose results are
// futures.
#pragma once

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <utility>

#include "weir/aws/http/crt_transport.h"
#include "weir/aws/testing/loopback_server_fixture.h"
#include "weir/runtime/await.h"

namespace weir {

using Response = tl::expected<HttpResponse, HttpFailure>;

/// Long enough that it passes only if there is a defect.
inline constexpr nanoseconds kPatience = std::chrono::seconds(30);
/// Tests of a limit wait for all of this time.
inline constexpr nanoseconds kShort = milliseconds(40);

using MakeTransportBy = Result<std::unique_ptr<HttpTransport>> (*)(const CrtRuntime&, const Clock&,
                                                                   const TransportOptions&);
struct Kind {
  const char* name;
  MakeTransportBy make;
  bool awaits;  ///< Ask blocks in Await, so that its thread may read the response itself
};
inline constexpr Kind kSockets{"Sockets", &MakeTransport, false};
inline constexpr Kind kAwaitedSockets{"AwaitedSockets", &MakeTransport, true};
inline constexpr Kind kCrt{"Crt", &internal::MakeCrtTransport, true};

/// Tests of the contract of every kind of transport.
class TransportTest : public testing::TestWithParam<Kind> {
 protected:
  Result<std::unique_ptr<HttpTransport>> Make(const TransportOptions& options,
                                              const CrtRuntime& runtime = *runtime_) const {
    return GetParam().make(runtime, clock_, options);
  }
  std::unique_ptr<HttpTransport> Connect(const TransportOptions& options) {
    auto transport = Make(options);
    EXPECT_TRUE(transport) << transport.error().message;
    return *std::move(transport);
  }
  std::unique_ptr<HttpTransport> Connect(const LoopbackServer& server) {
    return Connect(Options(server));
  }
  static TransportOptions Options(const LoopbackServer& server) {
    return {.host = "127.0.0.1", .port = server.port(), .tls = false};
  }

  std::future<Response> Start(HttpTransport& transport, HttpRequest request,
                              nanoseconds wait = kPatience) {
    return Start(transport, std::move(request), {.deadline = Deadline::After(clock_, wait)});
  }
  static std::future<Response> Start(HttpTransport& transport, HttpRequest request,
                                     const SendLimits& limits) {
    std::promise<Response> promise;
    std::future<Response> response = promise.get_future();
    transport.Send(std::move(request), limits,
                   [promise = std::move(promise)](Response result) mutable {
                     promise.set_value(std::move(result));
                   });
    return response;
  }
  SendLimits CompletedWithin(nanoseconds time) const {
    return {.deadline = Deadline::After(clock_, kPatience), .response_timeout = time};
  }
  Response Ask(HttpTransport& transport, HttpRequest request, nanoseconds wait = kPatience) {
    if (!GetParam().awaits) return Start(transport, std::move(request), wait).get();
    const SendLimits limits{.deadline = Deadline::After(clock_, wait)};
    return Await(transport, std::move(request), limits);
  }
  static Response Await(HttpTransport& transport, HttpRequest request, const SendLimits& limits) {
    return *weir::Await<Response>([&](Done<Response> done) {
      transport.Send(
          std::move(request), limits,
          [done = std::move(done)](Response response) mutable { done(std::move(response)); });
    });
  }

  static void SetUpTestSuite() { runtime_ = *CrtRuntime::Start({}); }
  static void TearDownTestSuite() { runtime_.reset(); }

  static inline std::unique_ptr<CrtRuntime> runtime_;
  SystemClock clock_;
};

inline const auto kTransports = testing::Values(kSockets, kAwaitedSockets, kCrt);

inline std::string KindName(const testing::TestParamInfo<Kind>& kind) { return kind.param.name; }

inline ScriptedReply Echo(const SeenRequest& request) { return {.bytes = Ok(request.body)}; }
inline ScriptedReply Silence(const SeenRequest&) { return {}; }

inline bool IsReady(const std::future<Response>& response) {
  return response.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

}  // namespace weir
