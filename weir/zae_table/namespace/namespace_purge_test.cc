#include "weir/zae_table/namespace/namespace_purge.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "weir/zae_table/testing/namespace_fixture.h"

namespace weir::dynamo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A deleted namespace with `items` items, and another one that must not change.
struct Purged : NamespaceRig {
  explicit Purged(int items) {
    id = Register("gone")->id;
    other = Register("other")->id;
    for (int i = 0; i < items; ++i) {
      PutItem(Keys(id).Entity(fmt::format("e{}", i)), id);
    }
    PutItem(Keys(other).Entity("acme"), other);
    EXPECT_TRUE(Delete("gone"));
  }
  // The two records of the other namespace, and its item.
  bool OnlyTheOtherIsLeft() {
    return sim.AllKeys() == std::vector{Keys(other).Entity("acme"), NamespaceForward("other"),
                                        NamespaceReverse(other)};
  }

  std::string id;
  std::string other;
};

TEST(NamespacePurge, DeletesEverythingAndTheRecordLast) {
  Purged t(60);
  const auto purged = t.Purge(t.id);
  ASSERT_TRUE(purged) << purged.error().message;
  EXPECT_EQ(*purged, 60U);
  EXPECT_TRUE(t.OnlyTheOtherIsLeft());
  EXPECT_EQ(t.Purge(t.id).error().code, Code::kNotFound);
}

TEST(NamespacePurge, AnActiveOneIsRefused) {
  Purged t(3);
  const auto purged = t.Purge(t.other);
  ASSERT_FALSE(purged);
  EXPECT_EQ(purged.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(purged.error().message, HasSubstr("weir namespace delete"));
  EXPECT_TRUE(t.sim.Get(Keys(t.other).Entity("acme")));
}

TEST(NamespacePurge, TheTablesOwnRecordsCannotBePurged) {
  Purged t(3);
  const auto before = t.sim.AllKeys();
  EXPECT_EQ(t.Purge("_").error().code, Code::kInvalidArgument);
  EXPECT_EQ(t.Purge("unknown").error().code, Code::kNotFound);
  EXPECT_EQ(t.sim.AllKeys(), before);
}

TEST(NamespacePurge, OneThatIsRecoveredInBetweenIsNotTouched) {
  Purged t(3);
  bool recovered = false;
  t.sim.client.before_each = [&](const JsonCall& call) {
    if (call.operation != "TransactWriteItems" || recovered) return;
    recovered = t.Recover(t.id).has_value();
  };
  const auto purged = t.Purge(t.id);
  ASSERT_FALSE(purged);
  EXPECT_EQ(purged.error().code, Code::kFailedPrecondition);
  EXPECT_TRUE(recovered);
  EXPECT_TRUE(t.sim.Get(Keys(t.id).Entity("e0")));
}

TEST(NamespacePurge, WhatAnOldProvisionerWroteIsFoundWithoutTheIndex) {
  Purged t(1);
  const Keys keys(t.id);
  t.PutItem(keys.Config(Level::Resource("api")), t.id, false);
  t.PutItem(keys.Config(Level::EntityDefault("acme")), t.id, false);
  t.PutItem(keys.Config(Level::Entity("acme", "api")), t.id, false);
  t.PutItem(keys.Config(Level::System()), t.id, false);
  Item state = ToItem({keys.SystemPartition(), "#PROVISIONER"});
  state.emplace("GSI4PK", Of(t.id));
  state.emplace("managed_resources", Value{List{Of("api")}});
  state.emplace("managed_entities", Value{Item{{"acme", Value{List{Of("_default_"), Of("api")}}}}});
  t.sim.Put(state);
  ASSERT_TRUE(t.Purge(t.id));
  EXPECT_TRUE(t.OnlyTheOtherIsLeft());
}

TEST(NamespacePurge, WhatIsWrittenMeanwhileGoesToo) {
  Purged t(3);
  int queries = 0;
  t.sim.client.before_each = [&](const JsonCall& call) {
    if (call.operation == "Query" && ++queries == 2) t.PutItem(Keys(t.id).Entity("late"), t.id);
  };
  ASSERT_TRUE(t.Purge(t.id));
  EXPECT_GE(queries, 2);
  EXPECT_TRUE(t.OnlyTheOtherIsLeft());
}

TEST(NamespacePurge, AnIndexThatLagsDoesNotKeepItFromEnding) {
  Purged t(3);
  t.sim.server.faults.longest_index_lag = std::chrono::hours(1);
  const auto purged = t.Purge(t.id);
  ASSERT_TRUE(purged) << purged.error().message;
  EXPECT_EQ(*purged, 3U);
  EXPECT_TRUE(t.OnlyTheOtherIsLeft());
}

// Fails if: items that an index still lists are counted although an earlier purge has deleted them.
TEST(NamespacePurge, ARepeatedPurgeCountsOnlyWhatItDeletes) {
  Purged t(60);
  t.sim.server.faults.longest_index_lag = std::chrono::hours(1);
  int batches = 0;
  t.sim.client.before_each = [&](const JsonCall& call) {
    if (call.operation == "BatchWriteItem" && ++batches == 2) {
      t.sim.client.FailFrom(0, DirectClient::Fault::kUnsent);
    }
  };
  ASSERT_FALSE(t.Purge(t.id));
  t.sim.client.Heal();
  const auto rest = t.Purge(t.id);
  ASSERT_TRUE(rest) << rest.error().message;
  EXPECT_EQ(*rest, 35U) << "a batch has 25";
  EXPECT_TRUE(t.OnlyTheOtherIsLeft());
}

// Fails if: the limits that are deleted first are not counted.
TEST(NamespacePurge, LimitsOfAProvisionerThatTheIndexListsAreCounted) {
  Purged t(1);
  const Keys keys(t.id);
  t.PutItem(keys.Config(Level::Resource("api")), t.id, false);
  t.PutItem(keys.Config(Level::Resource("llm")), t.id, true);
  Item state = ToItem({keys.SystemPartition(), "#PROVISIONER"});
  state.emplace("managed_resources", Value{List{Of("api"), Of("llm"), Of("gone"), Of("api")}});
  t.sim.Put(state);
  EXPECT_EQ(t.Purge(t.id), 3U) << "an entity, llm, and the record";
  EXPECT_TRUE(t.OnlyTheOtherIsLeft());
}

TEST(NamespacePurge, UnprocessedDeletesAreDoneAgain) {
  Purged t(60);
  t.sim.server.faults.unprocessed = 0.5;
  // If no item of a batch is processed, the call itself is refused, and this client gives up then.
  Result<std::uint64_t> purged = t.Purge(t.id);
  for (int again = 0; !purged && again < 10; ++again) purged = t.Purge(t.id);
  EXPECT_TRUE(purged) << purged.error().message;
  EXPECT_GT(t.sim.server.counts().unprocessed, 0U);
  EXPECT_TRUE(t.OnlyTheOtherIsLeft());
}

// Fails if: the record is deleted before the data, or a purge that has begun is refused. Then a
// purge that was interrupted at some call cannot be completed, or leaves items that no record leads
// to.
TEST(NamespacePurge, WhatWasCutOffGoesOnWithTheNextCall) {
  for (const auto fault : {DirectClient::Fault::kUnsent, DirectClient::Fault::kLostResponse}) {
    bool succeeded = false;
    for (std::uint64_t nth = 1; !succeeded; ++nth) {
      ASSERT_LT(nth, 30U);
      Purged t(60);
      t.sim.client.FailFrom(nth, fault);
      succeeded = t.Purge(t.id).has_value();
      t.sim.client.Heal();
      if (succeeded) continue;
      const auto again = t.Purge(t.id);
      const bool was_done = !again && again.error().code == Code::kNotFound;
      EXPECT_TRUE(again || was_done) << nth << ": " << again.error().message;
      EXPECT_TRUE(t.OnlyTheOtherIsLeft()) << nth;
    }
  }
}

}  // namespace
}  // namespace weir::dynamo
