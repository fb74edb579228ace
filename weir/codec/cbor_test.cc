#include "weir/codec/cbor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "weir/codec/cbor_writer.h"

namespace weir {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

std::string FromHex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

std::vector<std::string> Words(std::string_view text) {
  std::istringstream in{std::string(text)};
  return {std::istream_iterator<std::string>(in), {}};
}

std::string ToCbor(const json& value) {
  const std::vector<std::uint8_t> bytes = json::to_cbor(value);
  return {bytes.begin(), bytes.end()};
}

Status Skipped(std::string_view bytes) {
  CborReader in(bytes);
  in.Skip();
  return in.Finish();
}

std::string ReadText(std::string_view bytes) {
  CborReader in(bytes);
  std::string text(in.Text());
  const Status end = in.Finish();
  return end ? text : end.error().message;
}

// RFC 8949, appendix A.
constexpr std::string_view kWellFormed =
    "00 17 1818 1903e8 1a000f4240 1bffffffffffffffff 20 3863 3903e7 3bffffffffffffffff "
    "c249010000000000000000 f90000 fa47c35000 fb3ff199999999999a f97e00 f4 f5 f6 f7 f0 f8ff "
    "c11a514b67b0 c1fb41d452d9ec200000 c074323031332d30332d32315432303a30343a30305a "
    "d818456449455446 40 4401020304 60 6161 62c3bc 63e6b0b4 64f0908591 80 83010203 "
    "8301820203820405 "
    "a0 a201020304 a26161016162820203 5f42010243030405ff 7f657374726561646d696e67ff 9fff "
    "9f018202039f0405ffff 83018202039f0405ff bf61610161629f0203ffff bf6346756ef563416d7421ff "
    "d9d9f700 5fff 7fff 1800 5b0000000000000000";

TEST(CborReader, PassesOverEveryKindOfItem) {
  for (const std::string& hex : Words(kWellFormed)) {
    const Status skipped = Skipped(FromHex(hex));
    EXPECT_TRUE(skipped) << hex << ": " << skipped.error().message;
  }
}

// RFC 8949, appendix F.
constexpr std::string_view kNotWellFormed =
    "18 19 1a 1b 1901 1a0102 1b01020304050607 38 58 78 98 9a01ff00 b8 d8 f8 f900 fa0000 fb000000 "
    "41 "
    "61 5affffffff00 5bffffffffffffffff010203 7affffffff00 7b7fffffffffffffff010203 81 "
    "818181818181818181 8200 a1 a20102 a100 a2000000 c0 5f4100 7f6100 9f 9f0102 bf bf01020102 819f "
    "9f8000 9f9f9f9f9fffffffff 9f819f819f9fffffff 1c 1d 1e 3c 3d 3e 5c 5d 5e 7c 7d 7e 9c 9d 9e bc "
    "bd be dc dd de fc fd fe f800 f801 f818 f81f 5f00ff 5f21ff 5f6100ff 5f80ff 5fa0ff 5fc000ff "
    "5fe0ff 7f4100ff 5f5f4100ffff 7f7f6100ffff ff 81ff 8200ff a1ff a1ff00 a100ff a20000ff 9f81ff "
    "9f829f819f9fffffffff bf00ff bf000000ff 1f 3f df";

TEST(CborReader, RefusesWhatIsNotWellFormed) {
  for (const std::string& hex : Words(kNotWellFormed)) {
    const Status skipped = Skipped(FromHex(hex));
    ASSERT_FALSE(skipped) << hex;
    EXPECT_EQ(skipped.error().code, Code::kDataLoss);
    EXPECT_THAT(skipped.error().message, HasSubstr("byte "));
  }
}

TEST(CborReader, RefusesTextThatIsNoUtf8AndWhatComesAfterTheEnd) {
  EXPECT_THAT(ReadText(FromHex("62c328")), HasSubstr("UTF-8"));
  EXPECT_THAT(ReadText(FromHex("7f61c361bcff")), HasSubstr("UTF-8")) << "a letter in two chunks";
  EXPECT_EQ(ReadText(FromHex("616100")), "byte 2: more than one item");
  EXPECT_FALSE(Skipped(""));
}

TEST(CborReader, ReadsTextInOneOrInChunks) {
  EXPECT_EQ(ReadText(FromHex("657374726561")), "strea");
  EXPECT_EQ(ReadText(FromHex("62c3bc")), "\u00fc");
  EXPECT_EQ(ReadText(FromHex("7f657374726561646d696e67ff")), "streaming");
  EXPECT_EQ(ReadText(FromHex("780161")), "a") << "a length that is longer than needed";
  EXPECT_EQ(ReadText(FromHex("6441")), "byte 0: a string is cut off");
  EXPECT_EQ(ReadText(FromHex("4141")), "byte 0: no text, where one is due");
}

TEST(CborReader, ReadsMapsAndArraysOfEitherLength) {
  for (const std::string_view hex : {"a261618262626261636164f6", "bf61619f6262626163ff6164f6ff"}) {
    const std::string bytes = FromHex(hex);
    CborReader in(bytes);
    std::string seen;
    for (auto members = in.Map(); in.More(members);) {
      seen += in.Text();
      if (in.AtNull()) {
        in.Skip();
        continue;
      }
      for (auto items = in.Array(); in.More(items);) seen += in.Text();
    }
    EXPECT_TRUE(in.Finish());
    EXPECT_EQ(seen, "abbcd") << hex;
  }
}

TEST(CborReader, TellsTheFirstFaultWhateverIsAskedAfter) {
  const std::string bytes = FromHex("a26161016162616303");
  CborReader in(bytes);
  int members = 0;
  for (auto items = in.Map(); in.More(items); ++members) {
    in.Text();
    EXPECT_TRUE(in.Text().empty());
  }
  in.Skip();
  EXPECT_EQ(members, 1);
  EXPECT_EQ(in.Finish().error().message, "byte 3: no text, where one is due");
}

TEST(CborReader, IsBounded) {
  const auto nested = [](std::size_t depth) { return std::string(depth - 1, '\x81') + '\x80'; };
  EXPECT_TRUE(Skipped(nested(16)));
  EXPECT_FALSE(Skipped(nested(17)));
  EXPECT_FALSE(Skipped(nested(1'000'000)));
  EXPECT_TRUE(Skipped(std::string(1'000'000, '\xc1') + '\x01')) << "tags are no depth";
  EXPECT_EQ(Skipped(FromHex("9bffffffffffffffff00")).error().message,
            "byte 0: more items are announced than there are bytes");
  EXPECT_FALSE(Skipped(FromHex("bbffffffffffffffff00")));
}

json AnyJson(int depth) {
  switch (*rc::gen::inRange(0, depth > 0 ? 7 : 5)) {
    case 0:
      return nullptr;
    case 1:
      return *rc::gen::arbitrary<bool>();
    case 2:
      return *rc::gen::arbitrary<std::int64_t>();
    case 3:
      return *rc::gen::arbitrary<double>();
    case 4:
      return *rc::gen::container<std::string>(rc::gen::inRange<char>(0, 127));
    case 5: {
      json array = json::array();
      for (int i = *rc::gen::inRange(0, 30); i > 0; --i) array.push_back(AnyJson(depth - 1));
      return array;
    }
    default: {
      json object = json::object();
      for (int i = *rc::gen::inRange(0, 30); i > 0; --i) {
        object[std::string(static_cast<std::size_t>(i * 7), 'k')] = AnyJson(depth - 1);
      }
      return object;
    }
  }
}

// Compares with another library. Fails if: the size of a head is misread, or a cut is not noticed.
RC_GTEST_PROP(CborReaderProperty, TakesWhatAnotherWroteAndNoBeginningOfIt, ()) {
  const std::string bytes = ToCbor(AnyJson(2));
  RC_ASSERT(Skipped(bytes));
  const auto cut = *rc::gen::inRange<std::size_t>(0, bytes.size());
  RC_ASSERT(!Skipped(std::string_view(bytes).substr(0, cut)));
}

// Fails if: a head is written with a truncated argument.
RC_GTEST_PROP(CborWriterProperty, WritesWhatAnotherReadsAndOfTheSizeItCounted, ()) {
  const auto size = *rc::gen::element<std::size_t>(0, 1, 23, 24, 255, 256, 65'535, 65'536);
  const auto bits = *rc::gen::inRange(0, 64);
  const std::uint64_t number = *rc::gen::arbitrary<std::uint64_t>() >> bits;
  const std::string written = WriteSized([&](auto& sink) {
    CborWriter out(sink);
    out.OpenMap(3);
    out.Name("text");
    out.Text(std::string(size, 'x'));
    out.Name("bytes");
    out.Bytes(std::string(size, '\xff'));
    out.Name("numbers");
    out.OpenArray(size);
    for (std::size_t i = 0; i < size; ++i) out.Number(number);
    out.CloseArray();
    out.CloseMap();
  });
  json expected{{"text", std::string(size, 'x')}, {"numbers", json::array()}};
  expected["bytes"] = json::binary(std::vector<std::uint8_t>(size, 0xff));
  for (std::size_t i = 0; i < size; ++i) expected["numbers"].push_back(number);
  RC_ASSERT(json::from_cbor(written) == expected);
  RC_ASSERT(written.size() == json::to_cbor(expected).size());
}

TEST(IsCborMap, KnowsAMapFromAnythingThatIsText) {
  EXPECT_TRUE(IsCborMap(FromHex("a0")));
  EXPECT_TRUE(IsCborMap(FromHex("bfff")));
  for (const std::string_view body : {"", "{}", "<Error/>", " {", "\xef\xbb\xbf{}", "\xc3\xbc"}) {
    EXPECT_FALSE(IsCborMap(body)) << body;
  }
}

}  // namespace
}  // namespace weir
