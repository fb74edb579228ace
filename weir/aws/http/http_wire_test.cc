#include "weir/aws/http/http_wire.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace weir::internal {
namespace {

using State = ResponseReader::State;

constexpr ResponseReader::Expected kExpected{.max_body_bytes = 1'000};
constexpr std::string_view kChunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

/// Feeds an endless repetition of `part` and returns the state after `most` bytes.
State FeedWithoutEnd(ResponseReader& reader, std::string_view part, std::size_t most) {
  State state = State::kMore;
  for (std::size_t fed = 0; fed < most && state == State::kMore; fed += part.size()) {
    state = reader.Feed(part);
  }
  return state;
}

struct ReadOutcome {
  State state = State::kMore;
  int status = 0;
  std::string body;
  std::size_t headers = 0;
  bool keeps_alive = false;

  friend bool operator==(const ReadOutcome&, const ReadOutcome&) = default;
};

/// Parses `bytes` in parts of at most `most` bytes, then the end of the connection.
ReadOutcome ReadInParts(std::string_view bytes, std::size_t most,
                        const ResponseReader::Expected& expected = kExpected) {
  ResponseReader reader(expected);
  State state = State::kMore;
  while (!bytes.empty() && state == State::kMore) {
    const std::string_view part = bytes.substr(0, most);
    state = reader.Feed(part);
    bytes.remove_prefix(part.size());
  }
  if (state == State::kMore) state = reader.End();
  if (state != State::kComplete) return {.state = state};
  const bool keeps_alive = reader.keeps_alive() && bytes.empty();
  HttpResponse response = reader.Take();
  return {state, response.status, std::move(response.body), response.headers.size(), keeps_alive};
}

class EndlessResponse : public testing::TestWithParam<std::tuple<std::string_view, const char*>> {};

// Fails if: bytes other than the body are stored or skipped without a bound.
TEST_P(EndlessResponse, EndsAtTheBound) {
  const auto& [begin, part] = GetParam();
  ResponseReader reader(kExpected);
  ASSERT_EQ(reader.Feed(begin), State::kMore);
  EXPECT_EQ(FeedWithoutEnd(reader, part, 2 * kMaxFramingBytes), State::kTooMuchFraming);
}

INSTANTIATE_TEST_SUITE_P(
    Parts, EndlessResponse,
    testing::Values(std::tuple("HTTP/1.1 200", " "), std::tuple("HTTP/1.1 200 OK\r\n", "a: b\r\n"),
                    std::tuple("HTTP/1.1 200 OK\r\na: ", "bcdefgh"),
                    std::tuple("HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n"),
                    std::tuple("HTTP/1.1 100 Continue\r\n", "a: b\r\n\r\nHTTP/1.1 103 Early\r\n"),
                    std::tuple(kChunked, "0"), std::tuple(kChunked, "1;extension=\"x\""),
                    std::tuple("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n",
                               "trailer: x\r\n")));

TEST(ResponseReader, ABodyWithoutEndIsTooLong) {
  for (const std::string_view head :
       {std::string_view("HTTP/1.1 200 OK\r\n\r\n"), kChunked,
        std::string_view("HTTP/1.1 200 OK\r\ncontent-length: 18446744073709551615\r\n\r\n")}) {
    ResponseReader reader(kExpected);
    State state = reader.Feed(head);
    if (state == State::kMore) state = FeedWithoutEnd(reader, "8\r\n12345678\r\n", 100'000);
    EXPECT_EQ(state, State::kTooLong) << head;
  }
}

TEST(ResponseReader, ALengthThatDoesNotFitIntoItsNumberIsMalformed) {
  ResponseReader reader(kExpected);
  EXPECT_EQ(reader.Feed("HTTP/1.1 200 OK\r\ncontent-length: 18446744073709551616\r\n\r\n"),
            State::kMalformed);
}

TEST(ResponseReader, AResponseThatHasNoBodyWaitsForNone) {
  for (const std::string_view head : {"HTTP/1.1 204 No Content\r\n\r\n",
                                      "HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n"}) {
    ResponseReader reader(kExpected);
    ASSERT_EQ(reader.Feed(head), State::kComplete) << head;
    EXPECT_TRUE(reader.keeps_alive());
  }
}

TEST(ResponseReader, TheResponseToHeadHasNoBody) {
  ResponseReader reader({.is_head = true, .max_body_bytes = 10});
  ASSERT_EQ(reader.Feed("HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n"), State::kComplete);
  EXPECT_TRUE(reader.keeps_alive());
  EXPECT_EQ(reader.Take().body, "");
}

TEST(ResponseReader, TheSameComesOfTheSameBytesInAnyParts) {
  for (const std::string_view response :
       {"HTTP/1.1 100 Continue\r\nx: y\r\n\r\nHTTP/1.1 200 OK\r\na: b\r\ncontent-length: "
        "3\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0;z\r\nt: "
        "u\r\n\r\n"}) {
    const ReadOutcome whole = ReadInParts(response, response.size());
    EXPECT_EQ(whole.state, State::kComplete);

    for (std::size_t most = 1; most < response.size(); ++most) {
      EXPECT_EQ(ReadInParts(response, most), whole) << response << " in parts of " << most;
    }
  }
}

TEST(ResponseReader, ATrailerIsNoHeader) {
  EXPECT_EQ(
      ReadInParts(std::string(kChunked) + "0\r\nx-amzn-requestid: forged\r\n\r\n", 1'000).headers,
      1U);
}

// Any input of a server leads to a defined state. Beast's assertions are compiled in.
RC_GTEST_PROP(ResponseReaderProperty, AnyBytesHaveAVerdict, ()) {
  static const std::vector<std::string> parts = {"HTTP/1.1 200 OK\r\n",
                                                 "HTTP/1.1 100 Continue\r\n",
                                                 "HTTP/1.0 204 \r\n",
                                                 "\r\n",
                                                 "\r",
                                                 "\n",
                                                 "content-length: 3\r\n",
                                                 "content-length: 3, 3\r\n",
                                                 "content-length: ,\r\n",
                                                 "transfer-encoding: chunked\r\n",
                                                 "transfer-encoding: gzip, chunked\r\n",
                                                 "connection: close\r\n",
                                                 "a: b\r\n",
                                                 " folded\r\n",
                                                 ":",
                                                 "0\r\n",
                                                 "3\r\nabc\r\n",
                                                 "3;a=\"b",
                                                 "ffffffffffffffff\r\n",
                                                 "10000000000000000\r\n",
                                                 "abc",
                                                 std::string(1, '\0'),
                                                 "\xff"};
  const auto chosen =
      *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, parts.size()));
  std::string bytes = *rc::gen::elementOf(std::vector<std::string>{
      "", parts[0], std::string(kChunked), "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n"});
  for (const std::size_t index : chosen) bytes += parts[index];
  const bool is_head = *rc::gen::arbitrary<bool>();
  const std::size_t most = *rc::gen::inRange<std::size_t>(1, 20);
  const ResponseReader::Expected expected{.is_head = is_head, .max_body_bytes = 100};
  const ReadOutcome outcome = ReadInParts(bytes, most, expected);
  RC_ASSERT(outcome.state != State::kMore);
  RC_ASSERT(outcome.body.size() <= 100);
}

}  // namespace
}  // namespace weir::internal
