// Adjusts of several buckets of which one cannot be adjusted.
#include <gtest/gtest.h>

#include "weir/zae_table/testing/bucket_protocol_fixture.h"

namespace weir::dynamo {
namespace {

class PartialAdjust : public BucketProtocolTest {
 protected:
  PartialAdjust() {
    for (const char* entity : {"acme", "globex", "deep"}) Put(entity, 100);
  }
  // Starts an adjust of 5 tokens in each bucket, and carries out its requests.
  Pending Adjust(const std::vector<std::string>& entities, AdjustId id) {
    Pending call = Begin(entities, id);
    Finish(call);
    return call;
  }
  Pending Begin(const std::vector<std::string>& entities, AdjustId id) {
    std::vector<Ask> amounts;
    for (const std::string& entity : entities) amounts.push_back({entity, 5});
    return Start(amounts, {.kind = CallRequest::Kind::kAdjust, .adjust_id = id});
  }
  void Finish(const Pending& call) {
    for (int i = 0; i < 50 && StateOf(call) == "waits"; ++i) {
      Read();
      for (const char* entity : {"acme", "globex", "deep"}) {
        while (Writes(entity) > 0) Apply(Next(entity));
      }
      Wait(milliseconds(10));
    }
  }
  static bool IsPartial(const Pending& call) {
    return *call && !**call && (**call).error().is_partial;
  }
  void Disable(const std::string& entity) {
    Change(entity, [](Item& item) { item["disabled"] = Of(true); });
  }
  void Enable(const std::string& entity) {
    Change(entity, [](Item& item) { item.erase("disabled"); });
  }
};

// Fails if: the caller learns that nothing was changed, and takes or returns the tokens again.
TEST_F(PartialAdjust, IsNoRefusalIfAnotherBucketWasAdjusted) {
  Learn("acme");
  Learn("globex");
  Disable("globex");
  const AdjustId id{7, 1};
  EXPECT_TRUE(IsPartial(Adjust({"acme", "globex"}, id)));
  EXPECT_EQ(Taken("acme"), 5);
  EXPECT_EQ(Taken("globex"), 0);
  EXPECT_TRUE(IsPartial(Adjust({"acme", "globex"}, id))) << "the repetition too";
  Enable("globex");
  Learn("globex");
  EXPECT_EQ(StateOf(Adjust({"acme", "globex"}, id)), "admitted");
  EXPECT_EQ(Taken("acme"), 5);
  EXPECT_EQ(Taken("globex"), 5);
}

TEST_F(PartialAdjust, IsARefusalIfNothingWasAdjusted) {
  Disable("globex");
  const Pending refused = Adjust({"globex", "acme"}, {7, 1});
  EXPECT_EQ(StateOf(refused), "FAILED_PRECONDITION");
  EXPECT_FALSE(IsPartial(refused));
  EXPECT_EQ(Taken("acme"), 0);
}

// Fails if: the second of two adjusts, which meet at the largest debt, counts half and is refused.
TEST_F(PartialAdjust, IsNoRefusalIfTheDebtGrewMeanwhile) {
  Change("deep", [](Item& item) { item["b_rpm_tk"] = Of(-kMaxDebt + 6'000); });
  for (const char* entity : {"acme", "globex", "deep"}) Learn(entity);
  const Pending first = Begin({"acme", "deep"}, {7, 1});
  const Pending second = Begin({"globex", "deep"}, {7, 2});
  Finish(first);
  Finish(second);
  EXPECT_EQ(StateOf(first), "admitted");
  EXPECT_EQ(StateOf(second), "OUT_OF_RANGE");
  EXPECT_TRUE(IsPartial(second));
  EXPECT_EQ(Taken("globex"), 5);
}

// Fails if: a repetition stops at the bucket that fails, and leaves others out for ever.
TEST_F(PartialAdjust, ARepetitionAdjustsTheOthers) {
  for (const char* entity : {"acme", "globex", "deep"}) Learn(entity);
  const AdjustId id{7, 1};
  ASSERT_EQ(StateOf(Adjust({"acme"}, id)), "admitted");
  Change("globex", [](Item& item) { item["b_rpm_tk"] = Of(-kMaxDebt); });
  Learn("globex");
  EXPECT_TRUE(IsPartial(Adjust({"acme", "globex", "deep"}, id)));
  EXPECT_EQ(Taken("acme"), 5);
  EXPECT_EQ(Taken("deep"), 5);
}

// Fails if: a repetition leaves a bucket out, because the read of another one fails after its own.
TEST_F(PartialAdjust, ARepetitionAdjustsTheOthersThatItMustRead) {
  Learn("acme");
  Disable("globex");
  const AdjustId id{7, 1};
  ASSERT_EQ(StateOf(Adjust({"acme"}, id)), "admitted");
  EXPECT_TRUE(IsPartial(Adjust({"acme", "deep", "globex"}, id)));
  EXPECT_EQ(Taken("acme"), 5);
  EXPECT_EQ(Taken("deep"), 5);
}

}  // namespace
}  // namespace weir::dynamo
