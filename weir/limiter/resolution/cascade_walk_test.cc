#include "weir/limiter/resolution/cascade_walk.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weir/store/testing/contract_caller.h"

namespace weir {
namespace {

using Levels = std::vector<Level>;
using Names = std::vector<std::string>;

EntityRecord ChildOf(const std::string& parent, bool cascade = true) {
  EntityRecord record;
  record.entity.parent = parent;
  record.entity.cascade = cascade;
  return record;
}

LevelLimits PerMinuteOf(std::int64_t tokens) {
  return {.limits = {{"rpm", PerMinute(tokens)}}, .on_unavailable = {}};
}

TEST(CascadeWalk, ReadsTheLevelsOfTheResourceAndOfTheSystemOnce) {
  CascadeWalk walk("acme", "gpt-4");
  EXPECT_EQ(walk.member(), "acme");
  EXPECT_EQ(walk.levels(), (Levels{Level::Entity("acme", "gpt-4"), Level::EntityDefault("acme"),
                                   Level::Resource("gpt-4"), Level::System()}));
  EXPECT_EQ(walk.Take(ChildOf("group"), LimitsByLevel(4)), CascadeWalk::Next::kParentIsNext);
  EXPECT_EQ(walk.member(), "group");
  EXPECT_EQ(walk.levels(),
            (Levels{Level::Entity("group", "gpt-4"), Level::EntityDefault("group")}));
}

TEST(CascadeWalk, KeepsTheLimitsInTheOrderOfTheLevelsOfTheChain) {
  CascadeWalk walk("acme", "gpt-4");
  ASSERT_TRUE(walk.Take(ChildOf("group"),
                        {PerMinuteOf(1), PerMinuteOf(2), PerMinuteOf(7), PerMinuteOf(8)}));
  ASSERT_TRUE(walk.Take(ChildOf("all"), {PerMinuteOf(3), PerMinuteOf(4)}));
  EXPECT_EQ(walk.Take(EntityRecord{}, {PerMinuteOf(5), PerMinuteOf(6)}),
            CascadeWalk::Next::kComplete);
  EXPECT_EQ(walk.chain(), (Names{"acme", "group", "all"}));
  LimitsByLevel expected;
  for (std::int64_t i = 1; i <= 8; ++i) expected.emplace_back(PerMinuteOf(i));
  EXPECT_EQ(walk.found(), expected);
  EXPECT_EQ(walk.found().size(), LevelsOf(walk.chain(), walk.resource()).size());
}

TEST(CascadeWalk, EndsAtAMemberThatDoesNotCascadeOrHasNoParentOrDoesNotExist) {
  for (const auto& record :
       {std::optional(ChildOf("group", false)), std::optional(EntityRecord{}), {}}) {
    CascadeWalk walk("acme", "gpt-4");
    EXPECT_EQ(walk.Take(record, LimitsByLevel(4)), CascadeWalk::Next::kComplete);
    EXPECT_EQ(walk.chain(), Names{"acme"});
  }
}

TEST(CascadeWalk, FailsOnACycle) {
  CascadeWalk walk("acme", "gpt-4");
  ASSERT_TRUE(walk.Take(ChildOf("group"), LimitsByLevel(4)));
  const Error error = ErrorOf(walk.Take(ChildOf("acme"), LimitsByLevel(2)));
  EXPECT_EQ(error.code, Code::kFailedPrecondition);
  EXPECT_NE(error.message.find("(acme > group > acme)"), std::string::npos) << error.message;
  EXPECT_EQ(walk.chain(), (Names{"acme", "group"})) << "a change of either may mend it";
}

TEST(CascadeWalk, FailsOnOneParentMoreThanARequestMayCharge) {
  CascadeWalk walk("e0", "gpt-4");
  for (std::size_t i = 1; i < kMaxCascade; ++i) {
    ASSERT_EQ(walk.Take(ChildOf("e" + std::to_string(i)), LimitsByLevel(i == 1 ? 4 : 2)),
              CascadeWalk::Next::kParentIsNext);
  }
  const Error error = ErrorOf(walk.Take(ChildOf("one more"), LimitsByLevel(2)));
  EXPECT_EQ(error.code, Code::kFailedPrecondition);
  EXPECT_NE(error.message.find("too many"), std::string::npos) << error.message;
  EXPECT_EQ(walk.chain().size(), kMaxCascade);
}

// The resolution cache views the first name while the chain grows.
TEST(CascadeWalk, ItsNamesStayInPlace) {
  CascadeWalk walk("acme", "gpt-4");  // short: its characters are in the std::string
  const char* const first = walk.chain().front().data();
  for (std::size_t i = 1; i < kMaxCascade; ++i) {
    ASSERT_TRUE(walk.Take(ChildOf("e" + std::to_string(i)), LimitsByLevel(i == 1 ? 4 : 2)));
  }
  EXPECT_EQ(walk.chain().front().data(), first);
}

}  // namespace
}  // namespace weir
