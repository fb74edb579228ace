#include "weir/codec/iso_time.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weir::dynamo {
namespace {

TEST(IsoTime, IsWrittenInWholeSecondsOfUtc) {
  EXPECT_EQ(FormatIso({0}), "1970-01-01T00:00:00Z");
  EXPECT_EQ(FormatIso({1'767'225'600'999}), "2026-01-01T00:00:00Z");
  EXPECT_EQ(FormatIso({1'709'210'096'000}), "2024-02-29T12:34:56Z");
  EXPECT_EQ(FormatIso({-1}), "1969-12-31T23:59:59Z");
}

TEST(IsoTime, FractionsAndTheOtherNameOfUtcAreRead) {
  EXPECT_EQ(ParseIso("1970-01-01T00:00:01.5Z"), UnixMillis{1500});
  EXPECT_EQ(ParseIso("1970-01-01T00:00:01.123456+00:00"), UnixMillis{1123});
}

TEST(IsoTime, OtherTextsAreNoTimes) {
  for (const char* text :
       {"", "2026-01-01", "2026-01-01T00:00:00", "2026-02-29T00:00:00Z", "2026-01-01T24:00:00Z",
        "2026-01-01T00:60:00Z", "2026-01-01T00:00:60Z", "2026-01-01T00:00:00.Z",
        "2026-01-01T00:00:00+01:00", "2026-01-01T00:00:00ZZ", " 2026-01-01T00:00:00Z",
        "+026-01-01T00:00:00Z", "2026-01-01t00:00:00Z"}) {
    EXPECT_EQ(ParseIso(text), std::nullopt) << text;
  }
}

TEST(IsoTime, SecondsOfATimeToLiveAreRoundedDown) {
  EXPECT_EQ(WholeSeconds({1999}), 1);
  EXPECT_EQ(WholeSeconds({-1}), -1);
}

// Fails if: FormatIso rounds in the wrong direction, or ParseIso drops a field.
RC_GTEST_PROP(IsoTime, WhatIsWrittenIsReadAgain, ()) {
  const std::int64_t since_1970 = *rc::gen::inRange<std::int64_t>(-62'000'000'000, 250'000'000'000);
  const std::int64_t rest = *rc::gen::inRange<std::int64_t>(0, 1000);
  RC_ASSERT(ParseIso(FormatIso({since_1970 * 1000 + rest})) == UnixMillis{since_1970 * 1000});
}

}  // namespace
}  // namespace weir::dynamo
