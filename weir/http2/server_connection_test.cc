#include "weir/http2/server_connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/http2/testing/http2_client_fixture.h"

namespace weir::http2 {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::Pair;

// What the application's side of one stream has seen.
struct SeenStream {
  Fields fields;
  std::string body;
  bool has_head = false;
  bool is_complete = false;
  bool is_gone = false;
  bool is_overdue = false;
  std::optional<StreamWriter> writer;
};

class RecordingStream final : public Stream {
 public:
  RecordingStream(std::shared_ptr<SeenStream> seen, bool echoes)
      : seen_(std::move(seen)), echoes_(echoes) {}
  ~RecordingStream() override {
    seen_->is_gone = true;
    seen_->writer.reset();
  }
  void OnField(std::string_view name, std::string_view value) override {
    seen_->fields.emplace_back(name, value);
  }
  void OnHead() override { seen_->has_head = true; }
  void OnData(std::string_view bytes) override { seen_->body += bytes; }
  void OnEnd() override {
    seen_->is_complete = true;
    if (!echoes_) return;
    seen_->writer->Respond(std::vector<Field>{{":status", "200"}}, false);
    seen_->writer->Write(seen_->body);
    seen_->writer->Finish(std::vector<Field>{{"x-end", "yes"}});
  }
  void OnRequestTimeout() override { seen_->is_overdue = true; }

 private:
  std::shared_ptr<SeenStream> seen_;
  bool echoes_;
};

class ServerConnectionTest : public testing::Test {
 protected:
  void Connect(bool echoes = true, std::uint32_t window = 65'535) {
    server_ = std::make_unique<ServerConnection>(
        bounds_,
        [this, echoes](StreamWriter writer) {
          seen_.push_back(std::make_shared<SeenStream>());
          seen_.back()->writer = writer;
          return std::make_unique<RecordingStream>(seen_.back(), echoes);
        },
        counts_, [this] { ++changes_; }, now_);
    client_.emplace(*server_, window);
    client_->Exchange(now_);
  }
  void Advance(nanoseconds by) {
    now_ = now_ + by;
    if (server_->wake() <= now_) server_->OnTime(now_);
  }
  void Exchange() { client_->Exchange(now_); }

  ConnectionBounds bounds_;
  ConnectionCounts counts_;
  Instant now_{1'000'000'000'000};
  int changes_ = 0;
  std::vector<std::shared_ptr<SeenStream>> seen_;
  std::unique_ptr<ServerConnection> server_;
  std::optional<Http2Client> client_;
};

TEST_F(ServerConnectionTest, ARequestAndItsResponse) {
  Connect();
  const auto id = client_->Post("/echo", "hello", {{"x-a", "1"}});
  Exchange();
  EXPECT_THAT(seen_.at(0)->fields,
              ElementsAre(Pair(":method", "POST"), Pair(":scheme", "http"), Pair(":path", "/echo"),
                          Pair(":authority", "localhost"), Pair("x-a", "1")));
  const Response& response = client_->response(id);
  EXPECT_EQ(response.fields.at(":status"), "200");
  EXPECT_EQ(response.body, "hello");
  EXPECT_EQ(response.fields.at("x-end"), "yes");
  EXPECT_TRUE(response.is_complete);
  EXPECT_TRUE(seen_[0]->is_gone);
  EXPECT_EQ(server_->open_streams(), 0U);
}

// Fails if: a body that is larger than the windows of the peer is cut or stops.
TEST_F(ServerConnectionTest, ABodyLargerThanAllWindowsArrives) {
  Connect();
  const std::string body(3'000'000, 'x');
  const auto id = client_->Post("/echo", body);
  Exchange();
  EXPECT_TRUE(client_->response(id).is_complete);
  EXPECT_EQ(client_->response(id).body, body);
}

TEST_F(ServerConnectionTest, AResponseOutsideOfTheDriverIsReported) {
  Connect(/*echoes=*/false);
  const auto id = client_->Post("/later", "");
  Exchange();
  EXPECT_EQ(changes_, 0);
  seen_.at(0)->writer->Respond(std::vector<Field>{{":status", "204"}}, true);
  EXPECT_EQ(changes_, 1);
  Exchange();
  EXPECT_EQ(client_->response(id).fields.at(":status"), "204");
}

TEST_F(ServerConnectionTest, PartsOfABodyAreSentAsTheyAreWritten) {
  Connect(/*echoes=*/false);
  const auto id = client_->Post("/parts", "");
  Exchange();
  StreamWriter writer = *seen_.at(0)->writer;
  writer.Respond(std::vector<Field>{{":status", "200"}}, false);
  writer.Write("one ");
  Exchange();
  EXPECT_EQ(client_->response(id).body, "one ");
  EXPECT_EQ(writer.pending(), 0U);
  writer.Write("two");
  Exchange();
  EXPECT_FALSE(client_->response(id).is_complete);
  writer.Finish({});
  Exchange();
  EXPECT_EQ(client_->response(id).body, "one two");
  EXPECT_TRUE(client_->response(id).is_complete);
}

TEST_F(ServerConnectionTest, AStreamThatThePeerResetsIsGone) {
  Connect(/*echoes=*/false);
  const auto id = client_->Post("/slow", "");
  Exchange();
  EXPECT_FALSE(seen_.at(0)->is_gone);
  client_->Reset(id);
  Exchange();
  EXPECT_TRUE(seen_[0]->is_gone);
  EXPECT_EQ(counts_.peer_resets.Value(), 1U);
}

TEST_F(ServerConnectionTest, ALargeListOfFieldsIsRefusedAndTheConnectionStays) {
  Connect();
  const auto large = client_->Post("/x", "", {{"x-large", std::string(20'000, 'a')}});
  Exchange();
  EXPECT_TRUE(client_->response(large).reset.has_value());
  EXPECT_EQ(counts_.refused_headers.Value(), 1U);
  EXPECT_EQ(counts_.peer_resets.Value(), 0U);
  const auto next = client_->Post("/y", "ok");
  Exchange();
  EXPECT_EQ(client_->response(next).body, "ok");
}

// Fails if: a request needs more CONTINUATION frames than are allowed.
TEST_F(ServerConnectionTest, FieldsOf60KilobytesArriveIfTheyAreAllowed) {
  bounds_.max_header_list = 65'536;
  Connect();
  const std::string value(60'000, '~');  // which HPACK does not shorten
  const auto id = client_->Post("/x", "ok", {{"x-large", value}});
  Exchange();
  EXPECT_EQ(client_->response(id).body, "ok");
  EXPECT_THAT(seen_.at(0)->fields, testing::Contains(Pair("x-large", value)));
}

TEST_F(ServerConnectionTest, ARequestThatDoesNotEndInTimeIsReset) {
  bounds_.request = seconds(20);
  Connect();
  const auto slow = client_->Begin(
      {{":method", "POST"}, {":scheme", "http"}, {":path", "/s"}, {":authority", "h"}}, false);
  client_->Send(slow, "a", false);
  Exchange();
  Advance(seconds(19));
  EXPECT_FALSE(seen_.at(0)->is_overdue);
  Advance(seconds(1));
  EXPECT_TRUE(seen_[0]->is_overdue);
  Exchange();
  EXPECT_TRUE(client_->response(slow).reset.has_value());
  EXPECT_EQ(counts_.peer_resets.Value(), 0U);
  EXPECT_TRUE(seen_[0]->is_gone);
}

// Fails if: a peer whose windows stay closed keeps its responses for ever.
TEST_F(ServerConnectionTest, AResponseThatThePeerDoesNotTakeInTimeIsReset) {
  bounds_.request = bounds_.response = seconds(20);
  Connect(/*echoes=*/true, /*window=*/0);
  const auto id = client_->Post("/echo", "hello");
  Exchange();
  Advance(seconds(19));
  Exchange();
  EXPECT_FALSE(seen_.at(0)->is_gone);
  Advance(seconds(1));
  Advance(seconds(19));
  Exchange();
  EXPECT_FALSE(seen_[0]->is_gone);
  Advance(seconds(1));
  Exchange();
  EXPECT_TRUE(client_->response(id).reset.has_value());
  EXPECT_TRUE(seen_[0]->is_gone);
  EXPECT_EQ(counts_.response_timeouts.Value(), 1U);
}

// Fails if: the time of a response begins with its request.
TEST_F(ServerConnectionTest, ALateResponseHasItsOwnTime) {
  Connect(/*echoes=*/false, /*window=*/0);
  client_->Post("/slow", "");
  Exchange();
  Advance(bounds_.request);
  now_ = now_ + seconds(3);  // without an event
  seen_.at(0)->writer->Respond(std::vector<Field>{{":status", "200"}}, false);
  seen_[0]->writer->Write("late");
  seen_[0]->writer->Finish({});
  Exchange();
  Advance(bounds_.response - seconds(1));
  Exchange();
  EXPECT_FALSE(seen_[0]->is_gone);
  Advance(bounds_.response + seconds(1));
  Exchange();
  EXPECT_TRUE(seen_[0]->is_gone);
}

// Fails if: the server resets what waits for a slow store, although its request is complete.
TEST_F(ServerConnectionTest, ACompleteRequestMayWaitForItsResponse) {
  bounds_.request = seconds(20);
  Connect(/*echoes=*/false);
  client_->Post("/slow", "x");
  Exchange();
  for (int i = 0; i < 4; ++i) {
    Advance(seconds(15));
    Exchange();
  }
  EXPECT_FALSE(seen_.at(0)->is_gone);
}

TEST_F(ServerConnectionTest, AnIdleConnectionEnds) {
  bounds_.idle = seconds(300);
  Connect();
  Advance(seconds(299));
  EXPECT_FALSE(server_->IsDone());
  Advance(seconds(1));
  Exchange();
  EXPECT_FALSE(server_->IsDone());
  EXPECT_THAT(client_->goaways(), ElementsAre(Pair(NGHTTP2_NO_ERROR, INT32_MAX)));
  EXPECT_EQ(counts_.protocol_errors.Value(), 0U);
  Advance(bounds_.drain_notice);
  Exchange();  // nghttp2's client without streams reads nothing after the first GOAWAY
  EXPECT_TRUE(server_->IsDone());
}

// Fails if: an idle connection refuses the request that crosses its first GOAWAY.
TEST_F(ServerConnectionTest, ARequestThatCrossesTheEndOfAnIdleConnectionIsServed) {
  bounds_.idle = seconds(300);
  Connect();
  const auto crossing = client_->Post("/late", "x");
  Advance(seconds(300));
  Exchange();
  EXPECT_EQ(client_->response(crossing).body, "x");
  EXPECT_FALSE(server_->IsDone());
  Advance(bounds_.drain_notice);
  Exchange();
  EXPECT_TRUE(server_->IsDone());
}

TEST_F(ServerConnectionTest, ADrainServesRequestsThatWereSentBeforeItsSecondGoaway) {
  Connect();
  const auto open = client_->Begin(
      {{":method", "POST"}, {":scheme", "http"}, {":path", "/s"}, {":authority", "h"}}, false);
  Exchange();
  server_->Drain(now_);
  const auto crossing = client_->Post("/second", "2");
  Exchange();
  EXPECT_EQ(client_->response(crossing).body, "2");
  EXPECT_FALSE(server_->IsDone());
  Advance(bounds_.drain_notice);
  Exchange();
  EXPECT_THAT(client_->goaways(),
              ElementsAre(Pair(NGHTTP2_NO_ERROR, INT32_MAX), Pair(NGHTTP2_NO_ERROR, crossing)));
  EXPECT_FALSE(server_->IsDone());
  client_->Send(open, "end", true);
  Exchange();
  EXPECT_EQ(client_->response(open).body, "end");
  EXPECT_TRUE(server_->IsDone());
}

TEST_F(ServerConnectionTest, ADrainWaitsForTheResponsesOfItsRequests) {
  Connect(/*echoes=*/false);
  const auto id = client_->Post("/slow", "");
  Exchange();
  server_->Drain(now_);
  Advance(bounds_.drain_notice);
  Exchange();
  EXPECT_FALSE(server_->IsDone());
  seen_.at(0)->writer->Respond(std::vector<Field>{{":status", "200"}}, true);
  Exchange();
  EXPECT_EQ(client_->response(id).fields.at(":status"), "200");
  EXPECT_TRUE(server_->IsDone());
  EXPECT_FALSE(server_->IsCut());
}

// Fails if: a stream that never ends keeps a connection that drains, or has aged.
TEST_F(ServerConnectionTest, ADrainEndsAStreamThatDoesNotEndAfterAGrace) {
  bounds_.age = seconds(100);
  Connect(/*echoes=*/false);
  client_->Post("/watch", "");
  Exchange();
  Advance(seconds(100));
  Advance(bounds_.drain_notice);
  Exchange();
  Advance(bounds_.drain_grace - seconds(1));
  Exchange();
  EXPECT_FALSE(server_->IsDone());
  Advance(seconds(1));
  Exchange();
  EXPECT_TRUE(server_->IsDone());
  EXPECT_TRUE(server_->IsCut());
  EXPECT_EQ(counts_.timeouts.Value(), 0U);
}

// Fails if: trailers overwrite the fields of a request that has begun.
TEST_F(ServerConnectionTest, TrailersOfARequestEndItAndChangeNothing) {
  Connect();
  const std::int32_t id = client_->Begin({{":method", "POST"},
                                          {":scheme", "http"},
                                          {":path", "/x"},
                                          {":authority", "localhost"},
                                          {"x-a", "1"}},
                                         /*is_end=*/false);
  Exchange();
  const Fields before = seen_.at(0)->fields;
  using std::string_literals::operator""s;
  const std::string field = "\x00\x03x-a\x01\x32"s;  // RFC 7541, 6.2.2: "x-a: 2", not indexed
  constexpr char kEnds = NGHTTP2_FLAG_END_STREAM | NGHTTP2_FLAG_END_HEADERS;
  const std::string head = "\x00\x00"s + static_cast<char>(field.size()) + "\x01"s + kEnds;
  client_->Raw(head + "\x00\x00\x00"s + static_cast<char>(id) + field, now_);
  EXPECT_TRUE(seen_.at(0)->is_complete);
  EXPECT_EQ(seen_.at(0)->fields, before);
}

TEST_F(ServerConnectionTest, BytesThatAreNotHttp2EndTheConnection) {
  Connect();
  ConnectionCounts counts;
  ServerConnection server(bounds_, [](StreamWriter) { return nullptr; }, counts, [] {}, now_);
  server.Receive("GET / HTTP/1.1\r\nHost: x\r\n\r\n", now_);
  EXPECT_EQ(counts.protocol_errors.Value(), 1U);
  while (!server.Output().empty()) server.OnSent(server.Output().size(), now_);
  EXPECT_TRUE(server.IsDone());
  EXPECT_EQ(counts.protocol_errors.Value(), 1U);
}

TEST_F(ServerConnectionTest, ManyResetsAreAllowedAndMoreEndTheConnection) {
  bounds_.reset_burst = 2'000;
  bounds_.resets_per_second = 1;
  Connect(/*echoes=*/false);
  const auto reset_one = [this] {
    const auto id = client_->Post("/slow", "");
    Exchange();
    client_->Reset(id);
    Exchange();
  };
  for (int i = 0; i < 2'000; ++i) reset_one();
  EXPECT_THAT(client_->goaways(), ElementsAre());
  for (int i = 0; i < 10; ++i) reset_one();
  EXPECT_FALSE(client_->goaways().empty());
}

// Fails if: a peer that takes no GOAWAY keeps its connection.
TEST_F(ServerConnectionTest, AConnectionEndsAlsoIfThePeerTakesNoOutput) {
  Connect();
  Advance(bounds_.idle);
  Advance(bounds_.drain_notice);
  EXPECT_FALSE(server_->Output().empty());
  EXPECT_FALSE(server_->IsDone());
  Advance(kLastOutput);
  EXPECT_TRUE(server_->IsDone());
  EXPECT_EQ(server_->wake(), Instant{INT64_MAX});
}

TEST_F(ServerConnectionTest, APeerThatClosesItsSideGetsItsResponses) {
  Connect(/*echoes=*/false);
  client_->Post("/x", "");
  Exchange();
  server_->OnPeerClosed(now_);
  EXPECT_FALSE(server_->IsDone());
  seen_.at(0)->writer->Respond(std::vector<Field>{{":status", "200"}}, true);
  Exchange();
  EXPECT_TRUE(server_->IsDone());
}

}  // namespace
}  // namespace weir::http2
