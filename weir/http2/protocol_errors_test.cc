#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/http2/server_connection.h"
#include "weir/http2/testing/http2_client_fixture.h"

namespace weir::http2 {
namespace {

using testing::ElementsAre;
using testing::Pair;

class OkStream final : public Stream {
 public:
  explicit OkStream(StreamWriter writer) : writer_(writer) {}
  void OnField(std::string_view, std::string_view) override {}
  void OnHead() override {}
  void OnData(std::string_view) override {}
  void OnEnd() override { writer_.Respond(std::vector<Field>{{":status", "200"}}, true); }
  void OnRequestTimeout() override {}

 private:
  StreamWriter writer_;
};

std::string Frame(std::uint8_t type, std::uint8_t flags, std::int32_t stream,
                  std::string_view payload) {
  std::string frame(9, '\0');
  frame[2] = static_cast<char>(payload.size());
  frame[3] = static_cast<char>(type);
  frame[4] = static_cast<char>(flags);
  frame[8] = static_cast<char>(stream);
  return frame.append(payload);
}

/// The cases of RFC 7540 in which h2spec 2.2.1 expects an error (its section in brackets).
class ProtocolErrorsTest : public testing::Test {
 protected:
  ProtocolErrorsTest() { client_.Exchange(now_); }

  std::int32_t EndedStream() {
    const std::int32_t id = client_.Post("/x", "");
    client_.Exchange(now_);
    EXPECT_TRUE(client_.response(id).is_complete);
    return id;
  }
  void Send(const std::string& frame) {
    client_.Raw(frame, now_);
    client_.Exchange(now_);
  }

  ConnectionBounds bounds_;
  ConnectionCounts counts_;
  Instant now_{1'000'000'000'000};
  ServerConnection server_{bounds_,
                           [](StreamWriter writer) { return std::make_unique<OkStream>(writer); },
                           counts_, [] {}, now_};
  Http2Client client_{server_};
};

// Fails if: streams are forgotten when they end, and later frames of them are ignored.
TEST_F(ProtocolErrorsTest, DataOfAnEndedStreamEndsTheConnection) {  // [5.1/11], [6.1/2]
  const std::int32_t id = EndedStream();
  Send(Frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, id, "late"));
  EXPECT_THAT(client_.goaways(), ElementsAre(Pair(NGHTTP2_STREAM_CLOSED, id)));
  EXPECT_EQ(counts_.protocol_errors.Value(), 1U) << "nghttp2 has ended the connection";
}

TEST_F(ProtocolErrorsTest, HeadersOfAnEndedStreamEndTheConnection) {  // [5.1/12]
  const std::int32_t id = EndedStream();
  constexpr std::uint8_t kEnds = NGHTTP2_FLAG_END_STREAM | NGHTTP2_FLAG_END_HEADERS;
  Send(Frame(NGHTTP2_HEADERS, kEnds, id, "\x82\x86\x84"));
  EXPECT_THAT(client_.goaways(), ElementsAre(Pair(NGHTTP2_STREAM_CLOSED, id)));
}

// Fails if: PRIORITY frames of a peer that knows only RFC 7540 are ignored.
TEST_F(ProtocolErrorsTest, APriorityWithoutAStreamEndsTheConnection) {  // [6.3/1]
  Send(Frame(NGHTTP2_PRIORITY, 0, 0, std::string("\0\0\0\0\1", 5)));
  EXPECT_THAT(client_.goaways(), ElementsAre(Pair(NGHTTP2_PROTOCOL_ERROR, 0)));
}

// Fails if: a stream that nghttp2 resets counts as a reset by the peer.
TEST_F(ProtocolErrorsTest, ARequestThatViolatesTheProtocolIsNoResetByThePeer) {  // [8.1.2.1/1]
  const std::int32_t id = client_.Begin({{":method", "POST"},
                                         {":scheme", "http"},
                                         {":path", "/x"},
                                         {":authority", "localhost"},
                                         {":unknown", "x"}},
                                        /*is_end=*/true);
  client_.Exchange(now_);
  EXPECT_EQ(client_.response(id).reset, NGHTTP2_PROTOCOL_ERROR);
  EXPECT_EQ(counts_.peer_resets.Value(), 0U);
  EXPECT_EQ(counts_.protocol_errors.Value(), 0U);
}

// Fails if: each clean end of a grpc-go client counts as a violation.
TEST_F(ProtocolErrorsTest, AGoawayWithoutAnErrorIsNoViolation) {
  const std::int32_t id = EndedStream();
  ASSERT_EQ(id, 1);
  Send(Frame(NGHTTP2_GOAWAY, 0, 0, std::string("\0\0\0\1\0\0\0\0", 8) + "client shutdown"));
  EXPECT_EQ(counts_.protocol_errors.Value(), 0U);
  EXPECT_TRUE(server_.IsDone());
}

TEST_F(ProtocolErrorsTest, AGoawayWithAnErrorAndAWrongStreamIsAViolation) {
  EndedStream();
  Send(Frame(NGHTTP2_GOAWAY, 0, 0, std::string("\0\0\0\1\0\0\0\1", 8)));
  EXPECT_EQ(counts_.protocol_errors.Value(), 1U);
}

TEST_F(ProtocolErrorsTest, AStreamThatDependsOnItselfEndsTheConnection) {  // [5.3.1/2]
  Send(Frame(NGHTTP2_PRIORITY, 0, 3, std::string("\0\0\0\3\1", 5)));
  EXPECT_THAT(client_.goaways(), ElementsAre(Pair(NGHTTP2_PROTOCOL_ERROR, 0)));
}

}  // namespace
}  // namespace weir::http2
