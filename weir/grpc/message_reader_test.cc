#include "weir/grpc/message_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/codec/testing/packed_fixture.h"

namespace weir::grpc {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string Framed(std::string_view message) {
  return MessagePrefix(message.size()) + std::string(message);
}

std::string Compressed(std::string_view message) {
  std::string framed = Framed(Packed(message));
  framed[0] = 1;
  return framed;
}

class MessageReaderTest : public testing::Test {
 protected:
  Status Add(std::string_view bytes) {
    return reader_.Add(bytes, [this](const ReceivedMessage& message) {
      received_.emplace_back(message.bytes);
      is_compressed_.push_back(message.is_compressed);
    });
  }

  MessageReader reader_{1'000};
  std::vector<std::string> received_;
  std::vector<bool> is_compressed_;
};

TEST_F(MessageReaderTest, MessagesInOnePieceAndInManyAreTheSame) {
  const std::string body = Framed("one") + Framed("") + Framed(std::string(1'000, 'x'));
  for (std::size_t piece = 1; piece <= body.size(); piece = piece * 3 + 1) {
    received_.clear();
    for (std::size_t at = 0; at < body.size(); at += piece) {
      ASSERT_TRUE(Add(std::string_view(body).substr(at, piece)));
    }
    EXPECT_THAT(received_, ElementsAre("one", "", std::string(1'000, 'x'))) << piece;
    EXPECT_TRUE(reader_.is_at_boundary());
  }
}

TEST_F(MessageReaderTest, AMessageOverTheBoundIsRefusedBeforeItArrives) {
  const Status status = Add(MessagePrefix(1'001));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kResourceExhausted);
  EXPECT_EQ(reader_.kept(), 0U);
}

TEST_F(MessageReaderTest, ACompressedMessageIsPassedAsReceived) {
  reader_.AllowGzip();
  ASSERT_TRUE(Add(Compressed("some text") + Framed("plain")));
  EXPECT_THAT(received_, ElementsAre(Packed("some text"), "plain"));
  EXPECT_THAT(is_compressed_, ElementsAre(true, false));
  EXPECT_EQ(reader_.Decompress(received_[0]).value_or("?"), "some text");
}

// Fails if: a small message becomes a large one in memory.
TEST_F(MessageReaderTest, AMessageThatDecompressesToTooMuchIsRefused) {
  EXPECT_TRUE(reader_.Decompress(Packed(std::string(1'000, 'x'))));
  const auto refused = reader_.Decompress(Packed(std::string(1'001, 'x')));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
}

TEST_F(MessageReaderTest, DamagedOrUnexpectedCompressionIsRefused) {
  EXPECT_EQ(Add(Compressed("x")).error().code, Code::kUnimplemented);
  EXPECT_THAT(received_, IsEmpty());
  std::string damaged = Packed("some text");
  damaged[damaged.size() - 6] ^= 1;  // its checksum
  EXPECT_EQ(reader_.Decompress(damaged).error().code, Code::kInternal);
  std::string flag = Framed("x");
  flag[0] = 2;
  EXPECT_EQ(MessageReader(9).Add(flag, [](const auto&) {}).error().code, Code::kInternal);
}

}  // namespace
}  // namespace weir::grpc
