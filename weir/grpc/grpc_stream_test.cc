#include "weir/grpc/grpc_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "weir/codec/testing/packed_fixture.h"
#include "weir/grpc/server.h"
#include "weir/http2/testing/http2_client_fixture.h"
#include "weir/sim/sim_scheduler.h"

namespace weir::grpc {
namespace {

using http2::Fields;
using http2::Response;
using std::chrono::milliseconds;
using testing::HasSubstr;

const Fields kGrpcFields = {{"content-type", "application/grpc"}, {"te", "trailers"}};
const Fields kGzip = {{"grpc-encoding", "gzip"}};

std::string Message(std::string_view text) {
  return MessagePrefix(text.size()) + std::string(text);
}

std::string CompressedMessage(std::string_view text) {
  std::string framed = Message(Packed(text));
  framed[0] = 1;
  return framed;
}

// Sends each message back, and "end" at the half-close.
class EchoHandler final : public CallHandler {
 public:
  EchoHandler(CallWriter writer, int& alive) : writer_(std::move(writer)), alive_(alive) {
    ++alive_;
  }
  ~EchoHandler() override { --alive_; }
  void OnMessage(std::string_view message) override { writer_.Send(message); }
  void OnHalfClose() override { writer_.Reply("end"); }

 private:
  CallWriter writer_;
  int& alive_;
};

class GrpcStreamTest : public testing::Test {
 protected:
  GrpcStreamTest() {
    methods_.Add("test.Service", "Echo",
                 UnaryMethod([this](const CallHead& head, std::string_view message, auto writer) {
                   deadline_ = head.deadline;
                   authorization_ = head.authorization;
                   ids_ = head.ids;
                   writer.Reply(message);
                 }));
    methods_.Add("test.Service", "Later",
                 UnaryMethod([this](const CallHead&, std::string_view, CallWriter writer) {
                   later_.push_back(std::move(writer));
                 }));
    methods_.Add("test.Service", "Fail",
                 UnaryMethod([](const CallHead&, std::string_view, CallWriter writer) {
                   writer.Finish(weir::Fail(Code::kUnavailable, "no store: 100 %"));
                 }));
    methods_.Add("test.Service", "Busy",
                 UnaryMethod([](const CallHead&, std::string_view message, CallWriter writer) {
                   if (!message.empty()) writer.Send(message);
                   Error error{Code::kUnavailable, "busy", std::chrono::milliseconds(250)};
                   writer.Finish(weir::Fail(std::move(error)), {.status = "\x08\x0e"});
                 }));
    methods_.Add("test.Service", "Chat", StreamMethod([this](const CallHead&, CallWriter writer) {
                   return std::make_unique<EchoHandler>(std::move(writer), handlers_);
                 }));
    Connect();
  }

  void Connect(std::uint32_t window = 65'535) {
    client_.reset();
    server_ = ServeConnection(terms_, server_counts_,
                              {.peer = {}, .loop = scheduler_, .changed = [this] { ++changes_; }});
    client_.emplace(*server_, window);
    Exchange();
  }
  void Exchange() { client_->Exchange(scheduler_.clock().Now()); }
  std::int32_t Begin(std::string_view method, const Fields& more = {}) {
    Fields fields = {{":method", "POST"},
                     {":scheme", "http"},
                     {":path", "/test.Service/" + std::string(method)},
                     {":authority", "h"}};
    fields.insert(fields.end(), kGrpcFields.begin(), kGrpcFields.end());
    fields.insert(fields.end(), more.begin(), more.end());
    return client_->Begin(fields, false);
  }
  std::int32_t Call(std::string_view method, std::string_view body, const Fields& more = {}) {
    Fields fields = kGrpcFields;
    fields.insert(fields.end(), more.begin(), more.end());
    const auto id =
        client_->Post("/test.Service/" + std::string(method), std::string(body), fields);
    Exchange();
    return id;
  }
  std::string StatusOf(std::int32_t id) {
    const Response& response = client_->response(id);
    const auto found = response.fields.find("grpc-status");
    return found == response.fields.end() || !response.is_complete ? "none" : found->second;
  }
  std::string MessageOf(std::int32_t id) { return client_->response(id).fields.at("grpc-message"); }

  sim::SimScheduler scheduler_;
  MethodTable methods_;
  ServerCounts server_counts_;
  ServerTerms terms_{.methods = methods_, .connection = {}, .calls = {}};
  std::vector<CallWriter> later_;
  Deadline deadline_ = Deadline::Never();
  std::string authorization_;
  RequestIds ids_;
  int handlers_ = 0;
  int changes_ = 0;
  std::unique_ptr<transport::Connection> server_;
  std::optional<http2::Http2Client> client_;
};

TEST_F(GrpcStreamTest, AUnaryCall) {
  const auto id = Call("Echo", Message("hello"), {{"grpc-timeout", "20m"}, {"authorization", "x"}});
  EXPECT_EQ(client_->response(id).fields.at(":status"), "200");
  EXPECT_EQ(client_->response(id).fields.at("content-type"), "application/grpc");
  EXPECT_EQ(client_->response(id).body, Message("hello"));
  EXPECT_EQ(StatusOf(id), "0");
  EXPECT_EQ(deadline_.at(), scheduler_.clock().Now() + milliseconds(20));
  EXPECT_EQ(authorization_, "x");
}

TEST_F(GrpcStreamTest, TheHandlerGetsTheIdsOfTheRequest) {
  Call("Echo", Message(""),
       {{"x-request-id", "7f3a"},
        {"traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}});
  EXPECT_EQ(ids_.request, "7f3a");
  EXPECT_EQ(ids_.trace, "4bf92f3577b34da6a3ce929d0e0e4736");
  Call("Echo", Message(""));
  EXPECT_EQ(ids_.request, "");
  EXPECT_EQ(ids_.trace, "");
}

// In the header of a response without messages, and in the trailers of another.
TEST_F(GrpcStreamTest, AnErrorHasItsDetailsAndTheTimeOfARetry) {
  for (const std::string message : {"", "x"}) {
    const auto id = Call("Busy", Message(message));
    EXPECT_EQ(StatusOf(id), "14");
    EXPECT_EQ(MessageOf(id), "busy");
    EXPECT_EQ(client_->response(id).fields.at("grpc-retry-pushback-ms"), "250");
    EXPECT_EQ(client_->response(id).fields.at("grpc-status-details-bin"), "CA4");
    EXPECT_EQ(client_->response(id).body, message.empty() ? "" : Message(message));
  }
  const auto& plain = client_->response(Call("Fail", Message(""))).fields;
  EXPECT_FALSE(plain.contains("grpc-retry-pushback-ms"));
  EXPECT_FALSE(plain.contains("grpc-status-details-bin"));
}

TEST_F(GrpcStreamTest, AnErrorHasItsCodeAndMessage) {
  const auto id = Call("Fail", Message(""));
  EXPECT_EQ(StatusOf(id), "14");
  EXPECT_EQ(MessageOf(id), "no store: 100 %25");
}

TEST_F(GrpcStreamTest, AResponseMayComeLater) {
  const auto id = Call("Later", Message("x"));
  EXPECT_EQ(StatusOf(id), "none");
  later_.at(0).Reply("done");
  EXPECT_GT(changes_, 0) << "the driver has to look for output";
  Exchange();
  EXPECT_EQ(client_->response(id).body, Message("done"));
}

// Fails if: a response to a caller that is gone touches its stream.
TEST_F(GrpcStreamTest, AResponseAfterTheCallerHasGoneIsDropped) {
  const auto id = Call("Later", Message("x"));
  client_->Reset(id);
  Exchange();
  EXPECT_FALSE(later_.at(0).is_open());
  later_[0].Reply("done");
  EXPECT_EQ(server_counts_.calls.abandoned.Value(), 1U);
}

TEST_F(GrpcStreamTest, AResponseAfterTheConnectionHasGoneIsDropped) {
  Call("Later", Message("x"));
  client_.reset();
  server_.reset();
  EXPECT_FALSE(later_.at(0).is_open());
  later_[0].Reply("done");
}

// Fails if: calls that the peer resets while the store works on them pile up.
TEST_F(GrpcStreamTest, CallsInFlightAreBoundedAlsoIfThePeerResetsThem) {
  terms_.calls.max_calls = 3;
  Connect();
  for (int i = 0; i < 3; ++i) {
    const auto id = Call("Later", Message("x"));
    client_->Reset(id);
    Exchange();
  }
  const auto refused = Call("Later", Message("x"));
  EXPECT_EQ(StatusOf(refused), "8");
  EXPECT_EQ(server_counts_.calls.overloaded.Value(), 1U);
  later_.pop_back();
  const auto served = Call("Later", Message("x"));
  later_.back().Reply("y");
  Exchange();
  EXPECT_EQ(StatusOf(served), "0");
}

TEST_F(GrpcStreamTest, UnknownNamesAreUnimplemented) {
  EXPECT_EQ(StatusOf(Call("Nothing", Message(""))), "12");
  const auto id = client_->Post("/other.Service/Echo", Message(""), kGrpcFields);
  Exchange();
  EXPECT_EQ(StatusOf(id), "12");
  EXPECT_THAT(MessageOf(id), HasSubstr("no such service"));
}

TEST_F(GrpcStreamTest, RequestsThatAreNotGrpcGetAText) {
  const auto id = client_->Begin(
      {{":method", "GET"}, {":scheme", "http"}, {":path", "/"}, {":authority", "h"}}, true);
  Exchange();
  EXPECT_EQ(client_->response(id).fields.at(":status"), "415");
  EXPECT_THAT(client_->response(id).body, HasSubstr("application/grpc"));
}

TEST_F(GrpcStreamTest, ABadTimeoutIsNamed) {
  const auto id = Call("Echo", Message("x"), {{"grpc-timeout", "soon"}});
  EXPECT_EQ(StatusOf(id), "3");
  EXPECT_THAT(MessageOf(id), HasSubstr("'soon'"));
}

TEST_F(GrpcStreamTest, AUnaryCallHasOneCompleteMessage) {
  EXPECT_EQ(StatusOf(Call("Echo", "")), "12");
  EXPECT_EQ(StatusOf(Call("Echo", Message("a") + Message("b"))), "12");
  EXPECT_EQ(StatusOf(Call("Echo", Message("abc").substr(0, 6))), "13");
}

TEST_F(GrpcStreamTest, ALargeMessageIsRefused) {
  const auto id = Call("Echo", Message(std::string(70'000, 'x')));
  EXPECT_EQ(StatusOf(id), "8");
}

// Fails if: many incomplete messages, each within the bound of one, are kept.
TEST_F(GrpcStreamTest, IncompleteMessagesOfAConnectionAreBounded) {
  terms_.calls.max_kept = 100'000;
  Connect();
  std::int32_t id = 0;
  for (int i = 0; i < 3; ++i) {
    id = Begin("Echo");
    client_->Send(id, MessagePrefix(60'000) + std::string(40'000, 'x'), false);
    Exchange();
  }
  EXPECT_EQ(client_->response(id).fields.at("grpc-status"), "8");
}

// Fails if: complete messages of requests that never end are kept without a bound.
TEST_F(GrpcStreamTest, MessagesThatWaitForTheEndOfTheirRequestAreBounded) {
  terms_.calls.max_kept = 100'000;
  Connect();
  std::vector<std::int32_t> ids;
  for (int i = 0; i < 3; ++i) {
    ids.push_back(Begin("Echo"));
    client_->Send(ids.back(), Message(std::string(40'000, 'x')), false);
    Exchange();
  }
  EXPECT_EQ(client_->response(ids[2]).fields.at("grpc-status"), "8");
  client_->Send(ids[0], "", true);
  Exchange();
  EXPECT_EQ(StatusOf(ids[0]), "0");
}

// Fails if: messages that a method has received still count as incomplete requests.
TEST_F(GrpcStreamTest, MessagesOfCallsInFlightAreNotKept) {
  terms_.calls.max_kept = 100'000;
  Connect();
  for (int i = 0; i < 3; ++i) Call("Later", Message(std::string(40'000, 'x')));
  EXPECT_EQ(later_.size(), 3U);
}

// Fails if: each call of a connection keeps a response, and nothing bounds their sum.
TEST_F(GrpcStreamTest, ResponsesOfAConnectionThatAreNotTakenAreBounded) {
  terms_.calls.max_connection_pending = 100'000;
  Connect(/*window=*/0);
  std::vector<std::int32_t> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(Call("Echo", Message(std::string(40'000, 'x'))));
  EXPECT_EQ(StatusOf(ids[1]), "none");
  EXPECT_EQ(StatusOf(ids[2]), "8");
  EXPECT_EQ(server_counts_.calls.overloaded.Value(), 1U);
  client_->Reset(ids[0]);
  EXPECT_EQ(StatusOf(Call("Echo", Message(std::string(40'000, 'x')))), "none");
  EXPECT_EQ(StatusOf(Call("Echo", Message(std::string(40'000, 'x')))), "8");
}

// Fails if: a call that ends because its peer is slow is missing in the metric.
TEST_F(GrpcStreamTest, ACallWhoseResponsesAreNotTakenEndsAndCounts) {
  terms_.calls.max_pending = 50'000;
  Connect(/*window=*/0);
  Call("Echo", Message(std::string(40'000, 'x')));
  EXPECT_EQ(server_counts_.calls.overloaded.Value(), 0U);
  Call("Echo", Message(std::string(60'000, 'x')));
  EXPECT_EQ(server_counts_.calls.overloaded.Value(), 1U);
}

// Fails if: bytes that were sent still count.
TEST_F(GrpcStreamTest, ResponsesThatAreTakenDoNotCount) {
  terms_.calls.max_connection_pending = 100'000;
  Connect();
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(StatusOf(Call("Echo", Message(std::string(40'000, 'x')))), "0");
  }
}

TEST_F(GrpcStreamTest, ACompressedMessageIsRead) {
  const auto id = Call("Echo", CompressedMessage("hello"), kGzip);
  EXPECT_EQ(client_->response(id).body, Message("hello"));
}

// Fails if: a request that does not end takes the memory of its decompressed message.
TEST_F(GrpcStreamTest, CompressedMessagesOfIncompleteRequestsAreKeptAsReceived) {
  terms_.calls.max_kept = 10'000;
  Connect();
  const std::string text(60'000, 'x');
  std::vector<std::int32_t> ids;
  for (int i = 0; i < 10; ++i) {
    ids.push_back(Begin("Echo", kGzip));
    client_->Send(ids.back(), CompressedMessage(text), false);
    Exchange();
  }
  for (const std::int32_t id : ids) {
    EXPECT_EQ(StatusOf(id), "none");
    client_->Send(id, "", true);
    Exchange();
    EXPECT_EQ(client_->response(id).body, Message(text));
  }
}

TEST_F(GrpcStreamTest, ACompressedMessageOfAStreamIsPassedOnAtOnce) {
  const auto id = Begin("Chat", kGzip);
  client_->Send(id, CompressedMessage("a") + Message("b"), false);
  Exchange();
  EXPECT_EQ(client_->response(id).body, Message("a") + Message("b"));
}

TEST_F(GrpcStreamTest, ACompressedMessageThatIsDamagedOrTooLargeIsRefused) {
  std::string damaged = CompressedMessage("some text");
  damaged[damaged.size() - 6] ^= 1;  // its checksum
  for (const std::string method : {"Echo", "Chat"}) {
    EXPECT_EQ(StatusOf(Call(method, CompressedMessage(std::string(65'537, 'x')), kGzip)), "8");
    EXPECT_EQ(StatusOf(Call(method, damaged, kGzip)), "13");
    EXPECT_EQ(StatusOf(Call(method, damaged)), "12") << "without grpc-encoding";
  }
}

TEST_F(GrpcStreamTest, MessagesInBothDirections) {
  Fields fields = {{":method", "POST"},
                   {":scheme", "http"},
                   {":path", "/test.Service/Chat"},
                   {":authority", "h"}};
  fields.insert(fields.end(), kGrpcFields.begin(), kGrpcFields.end());
  const auto id = client_->Begin(fields, false);
  client_->Send(id, Message("a"), false);
  Exchange();
  EXPECT_EQ(client_->response(id).body, Message("a"));
  EXPECT_EQ(handlers_, 1);
  client_->Send(id, Message("b"), true);
  Exchange();
  EXPECT_EQ(client_->response(id).body, Message("a") + Message("b") + Message("end"));
  EXPECT_EQ(StatusOf(id), "0");
  EXPECT_EQ(handlers_, 0);
}

TEST_F(GrpcStreamTest, ACallWithStreamsEndsAtItsDeadline) {
  Fields fields = {{":method", "POST"},
                   {":scheme", "http"},
                   {":path", "/test.Service/Chat"},
                   {":authority", "h"},
                   {"grpc-timeout", "1S"}};
  fields.insert(fields.end(), kGrpcFields.begin(), kGrpcFields.end());
  const auto id = client_->Begin(fields, false);
  Exchange();
  scheduler_.Advance(std::chrono::seconds(1));
  Exchange();
  EXPECT_EQ(client_->response(id).fields.at("grpc-status"), "4");
}

}  // namespace
}  // namespace weir::grpc
