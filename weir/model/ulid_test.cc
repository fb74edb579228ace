#include "weir/model/ulid.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weir {
namespace {

TEST(Ulid, IsTimeAndRandomnessInCrockfordsBase32) {
  EXPECT_EQ(UlidMaker().Next({0}, {}), "00000000000000000000000000");
  // The time of the specification's own example.
  EXPECT_EQ(UlidMaker().Next({1'469'918'176'385}, {0, 0}).substr(0, 10), "01ARYZ6S41");
  EXPECT_EQ(UlidMaker().Next({(1LL << 48) - 1}, {0xFFFF, UINT64_MAX}),
            "7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
  EXPECT_EQ(UlidMaker().Next({0}, {0, 0x1F}), "0000000000000000000000000Z");
}

TEST(Ulid, TheTimeCanBeReadBack) {
  EXPECT_EQ(TimeOfUlid("01ARYZ6S41TSV4RRFFQ69G5FAV"), UnixMillis{1'469'918'176'385});
  for (const char* text :
       {"", "01ARYZ6S41", "81ARYZ6S41TSV4RRFFQ69G5FAV", "01ARYZ6S41TSV4RRFFQ69G5FAU",
        "01aryz6s41tsv4rrffq69g5fav", "01ARYZ6S41TSV4RRFFQ69G5FAVX"}) {
    EXPECT_EQ(TimeOfUlid(text), std::nullopt) << text;
  }
}

TEST(Ulid, WhereTheRandomPartIsUsedUpTheNextMillisecondBegins) {
  UlidMaker maker;
  const std::string last = maker.Next({5}, {0xFFFF, UINT64_MAX});
  const std::string next = maker.Next({5}, {0, 7});
  EXPECT_LT(last, next);
  EXPECT_EQ(TimeOfUlid(next), UnixMillis{6});
}

// Fails if: a repeated or earlier millisecond draws a new random part instead of counting on.
RC_GTEST_PROP(Ulid, EachIsGreaterThanTheOneBefore, ()) {
  UlidMaker maker;
  std::string last;
  for (const int step : *rc::gen::container<std::vector<int>>(rc::gen::inRange(-3, 3))) {
    const std::int64_t now = 1'767'225'600'000 + step;
    const std::string next = maker.Next(
        {now}, {*rc::gen::arbitrary<std::uint16_t>(), *rc::gen::arbitrary<std::uint64_t>()});
    RC_ASSERT(last < next);
    RC_ASSERT(TimeOfUlid(next) >= UnixMillis{now});
    last = next;
  }
}

}  // namespace
}  // namespace weir
