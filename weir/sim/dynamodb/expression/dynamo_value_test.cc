#include "weir/sim/dynamodb/expression/dynamo_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

#include "weir/sim/dynamodb/expression/dynamo_decimal.h"

namespace weir::sim {
namespace {

using nlohmann::json;
using testing::HasSubstr;

Decimal Number(std::string_view text) { return Decimal::Parse(text).value(); }

struct Spelling {
  std::string given;
  std::string kept;
};

TEST(Decimal, IsNormalisedAsAwsDoes) {
  const Spelling spellings[] = {
      {"0", "0"},
      {"-0", "0"},
      {"000", "0"},
      {"0.000", "0"},
      {"007", "7"},
      {"+7", "7"},
      {"7.", "7"},
      {".5", "0.5"},
      {"-1.50", "-1.5"},
      {"1e3", "1000"},
      {"1.25E+1", "12.5"},
      {"125e-4", "0.0125"},
      {"1e-130", "0." + std::string(129, '0') + "1"},
      {"1e125", "1" + std::string(125, '0')},
      {"12345678901234567890123456789012345678", "12345678901234567890123456789012345678"},
      {"1234567890123456789012345678901234567800", "1234567890123456789012345678901234567800"},
      {"-9.9999999999999999999999999999999999999e125",
       "-" + std::string(38, '9') + std::string(88, '0')},
  };
  for (const auto& [given, kept] : spellings) {
    const auto number = Decimal::Parse(given);
    ASSERT_TRUE(number.has_value()) << given;
    EXPECT_EQ(number->ToString(), kept) << given;
    EXPECT_EQ(Number(kept), *number) << given;
  }
}

TEST(Decimal, RefusesWhatAwsRefuses) {
  const Spelling refused[] = {
      {"", "cannot be converted"},
      {"-", "cannot be converted"},
      {".", "cannot be converted"},
      {"1e", "cannot be converted"},
      {"1e5.5", "cannot be converted"},
      {"0x10", "cannot be converted"},
      {"1 ", "cannot be converted"},
      {"NaN", "cannot be converted"},
      {"Infinity", "cannot be converted"},
      {"1e9999999", "cannot be converted"},
      {"123456789012345678901234567890123456789", "38 significant digits"},
      {"1.00000000000000000000000000000000000001", "38 significant digits"},
      {"1e126", "overflow"},
      {"-1e126", "overflow"},
      {"1e-131", "underflow"},
  };
  for (const auto& [text, why] : refused) {
    const auto number = Decimal::Parse(text);
    ASSERT_FALSE(number.has_value()) << text;
    EXPECT_EQ(number.error().code, Code::kInvalidArgument);
    EXPECT_THAT(number.error().message, HasSubstr(why)) << text;
  }
}

TEST(Decimal, AddsAndSubtractsExactlyOrNotAtAll) {
  const std::string nines(38, '9');
  EXPECT_EQ(Number("0.1").Plus(Number("0.2")), Number("0.3"));
  EXPECT_EQ(Number("100").Minus(Number("0.01")), Number("99.99"));
  EXPECT_EQ(Number("5").Minus(Number("5")), Decimal());
  EXPECT_EQ(Number("3").Minus(Number("5")), Decimal(-2));
  EXPECT_EQ(Number("-3").Plus(Number("5")), Decimal(2));
  EXPECT_EQ(Number("0").Minus(Number("1.5")), Number("-1.5"));
  EXPECT_EQ(Number("1e38").Minus(Number("1")), Number(nines));
  EXPECT_EQ(Number(nines).Plus(Number("1")), Number("1e38"));
  EXPECT_FALSE(Number("1e38").Plus(Number("1")).has_value());
  EXPECT_FALSE(Number("1e60").Plus(Number("1e-60")).has_value());
  EXPECT_FALSE(Number("9e125").Plus(Number("9e125")).has_value());
}

TEST(Decimal, OrdersByValueWhateverTheScale) {
  const std::string_view rising[] = {"-1e125", "-100.5", "-100", "-1e-130", "0",  "1e-130",
                                     "0.01",   "0.02",   "9",    "9.5",     "10", "99",
                                     "100",    "1e30",   "2e30", "1e125"};
  for (std::size_t i = 0; i < std::size(rising); ++i) {
    for (std::size_t j = 0; j < std::size(rising); ++j) {
      EXPECT_EQ(Number(rising[i]) <=> Number(rising[j]), i <=> j) << rising[i] << " " << rising[j];
    }
  }
}

TEST(Decimal, IsAnInt64WhereItFits) {
  EXPECT_EQ(Number("-1500").ToInt64(), -1500);
  EXPECT_EQ(Number("9223372036854775807").ToInt64(), INT64_MAX);
  EXPECT_EQ(Decimal(INT64_MIN).ToInt64(), INT64_MIN);
  EXPECT_EQ(Decimal(INT64_MIN).ToString(), "-9223372036854775808");
  EXPECT_EQ(Number("9223372036854775808").ToInt64(), std::nullopt);
  EXPECT_EQ(Number("0.5").ToInt64(), std::nullopt);
  EXPECT_EQ(Number("1e19").ToInt64(), std::nullopt);
}

// Fails if: Plus does not align the exponents, or takes a sign from the wrong operand.
RC_GTEST_PROP(DecimalProperty, AgreesWithIntegersInThousandths, ()) {
  const auto a = *rc::gen::inRange<std::int64_t>(-1'000'000'000, 1'000'000'000);
  const auto b = *rc::gen::inRange<std::int64_t>(-1'000'000'000, 1'000'000'000);
  const auto thousandths = [](std::int64_t n) { return Number(std::to_string(n) + "e-3"); };
  RC_ASSERT(thousandths(a).Plus(thousandths(b)) == thousandths(a + b));
  RC_ASSERT(thousandths(a).Minus(thousandths(b)) == thousandths(a - b));
  RC_ASSERT((thousandths(a) <=> thousandths(b)) == (a <=> b));
  RC_ASSERT(Number(thousandths(a).ToString()) == thousandths(a));
}

Value Read(const char* text) { return ReadValue(json::parse(text)).value(); }

TEST(Value, EveryTypeComesBackAsItCame) {
  const char* const texts[] = {
      R"({"S":""})",         R"({"S":"text"})",
      R"({"N":"12.5"})",     R"({"BOOL":true})",
      R"({"BOOL":false})",   R"({"NULL":true})",
      R"({"M":{}})",         R"({"M":{"a":{"M":{"b":{"N":"1"}}}}})",
      R"({"L":[]})",         R"({"L":[{"S":"x"},{"L":[{"NULL":true}]}]})",
      R"({"SS":["a","b"]})", R"({"NS":["-1","2","10"]})",
      R"({"B":""})",         R"({"B":"AP9/"})",
  };
  for (const char* text : texts) EXPECT_EQ(WriteValue(Read(text)), json::parse(text)) << text;
}

TEST(Value, NumbersAreEqualByValueAndTypesAreNeverEqual) {
  EXPECT_EQ(Read(R"({"N":"1.0"})"), Read(R"({"N":"1"})"));
  EXPECT_EQ(Read(R"({"NS":["2","1"]})"), Read(R"({"NS":["1.0","2"]})"));
  EXPECT_FALSE(Read(R"({"N":"1"})") == Read(R"({"S":"1"})"));
  EXPECT_FALSE(Read(R"({"L":[]})") == Read(R"({"M":{}})"));
  EXPECT_FALSE(Read(R"({"B":"AAAA"})") == Read(R"({"S":"AAAA"})"));
}

TEST(Value, RefusesWhatIsNoAttributeValue) {
  const Spelling refused[] = {
      {"{}", "exactly one"},
      {"[]", "exactly one"},
      {"\"text\"", "exactly one"},
      {R"({"S":"a","N":"1"})", "more than one"},
      {R"({"S":1})", "S must be a string"},
      {R"({"N":1})", "N must be a string"},
      {R"({"N":"one"})", "cannot be converted"},
      {R"({"BOOL":"true"})", "BOOL"},
      {R"({"NULL":false})", "must have the value of true"},
      {R"({"SS":[]})", "may not be empty"},
      {R"({"SS":["a","a"]})", "duplicates"},
      {R"({"NS":["1","1.0"]})", "duplicates"},
      {R"({"NS":[1]})", "must be strings"},
      {R"({"L":{}})", "L must be a list"},
      {R"({"L":[{"X":"y"}]})", "not simulated: attribute values of type X"},
      {R"({"B":"A"})", "B must be a string in Base64"},
      {R"({"BS":["AAAA"]})", "not simulated: attribute values of type BS"},
  };
  for (const auto& [text, why] : refused) {
    const auto value = ReadValue(json::parse(text));
    ASSERT_FALSE(value.has_value()) << text;
    EXPECT_THAT(value.error().message, HasSubstr(why)) << text;
  }
}

TEST(Value, SizesAreAsAwsBillsThem) {
  EXPECT_EQ(SizeOf(Read(R"({"S":"four"})")), 4U);
  EXPECT_EQ(SizeOf(Read(R"({"S":"é"})")), 2U);
  EXPECT_EQ(SizeOf(Read(R"({"N":"12"})")), 2U);
  EXPECT_EQ(SizeOf(Read(R"({"N":"-123"})")), 4U);
  EXPECT_EQ(SizeOf(Read(R"({"BOOL":true})")), 1U);
  EXPECT_EQ(SizeOf(Read(R"({"B":"AP9/"})")), 3U);
  EXPECT_EQ(SizeOf(Read(R"({"L":[{"S":"ab"}]})")), 3U + 1 + 2);
  EXPECT_EQ(SizeOf(Read(R"({"M":{"k":{"S":"ab"}}})")), 3U + 1 + 1 + 2);
  EXPECT_EQ(SizeOf(ReadItem(json::parse(R"({"PK":{"S":"a"},"x":{"NULL":true}})")).value()),
            2U + 1 + 1 + 1);
}

}  // namespace
}  // namespace weir::sim
