#include "weir/zae_table/config/config_apply.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/zae_table/testing/config_fixture.h"
#include "weir/zae_table/version.h"

namespace weir::dynamo {
namespace {

using testing::HasSubstr;

// Has `interfere` run just before each of the first `times` transactions.
void Interfere(ConfigRig& rig, int times, std::function<void()> interfere) {
  rig.client.before = [times, interfere = std::move(interfere)](const JsonCall& call) mutable {
    if (call.operation == "TransactWriteItems" && times-- > 0) interfere();
  };
}

TEST(ConfigApplyTest, OneListIsOneTransaction) {
  ConfigRig rig;
  ASSERT_TRUE(rig.Apply({PutLimits{kAcme, Rpm(1)}, PutLimits{Level::System(), Rpm(2)},
                         CreateEntity{Named("acme", "globex")}, PutEntity{Named("globex")}}));
  EXPECT_EQ(rig.client.Count("TransactWriteItems"), 1);
  EXPECT_EQ(rig.client.Count("UpdateItem") + rig.client.Count("PutItem"), 0);
  // Lists that change nothing cause no write.
  ASSERT_TRUE(rig.Apply({}));
  ASSERT_TRUE(
      rig.Apply({PutLimits{Level::Resource("x"), Rpm(1)}, DeleteLimits{Level::Resource("x")}}));
  EXPECT_EQ(rig.client.Count("TransactWriteItems"), 1);
}

TEST(ConfigApplyTest, LimitsThatAnotherWriterAddedMeanwhileAreReplacedToo) {
  ConfigRig rig;
  ASSERT_TRUE(rig.Apply({PutLimits{kAcme, Rpm(1)}}));
  const LevelLimits more{.limits = {{"rpm", PerMinute(1)}, {"tpm", PerMinute(9)}}};
  Interfere(rig, 1, [&] { ASSERT_TRUE(rig.Apply({PutLimits{kAcme, more}})); });
  ASSERT_TRUE(rig.Apply({PutLimits{kAcme, Rpm(2)}}));
  EXPECT_EQ(**rig.GetLimits(kAcme), Rpm(2));
}

TEST(ConfigApplyTest, LimitsThatPythonReplacedMeanwhileAreReplacedToo) {
  ConfigRig rig;
  const auto python = [&](const char* limit) {
    Item item = rig.At(rig.keys.Config(kAcme));
    std::erase_if(item, [](const auto& entry) {
      return entry.first.starts_with("l_") || entry.first.starts_with("wx_");
    });
    for (const char* field : {"cp", "ra", "rp"}) {
      item.emplace(fmt::format("l_{}_{}", limit, field), Of(std::int64_t{7}));
    }
    rig.Put(rig.keys.Config(kAcme), item);
  };
  ASSERT_TRUE(rig.Apply({PutLimits{kAcme, Rpm(1)}}));
  Interfere(rig, 1, [&] { python("tpm"); });
  ASSERT_TRUE(rig.Apply({PutLimits{kAcme, Rpm(2)}}));
  EXPECT_EQ(**rig.GetLimits(kAcme), Rpm(2));
  python("tpm");
  Interfere(rig, 1, [&] { python("rpd"); });
  ASSERT_TRUE(rig.Apply({PutLimits{kAcme, Rpm(3)}}));
  EXPECT_EQ(**rig.GetLimits(kAcme), Rpm(3));
}

TEST(ConfigApplyTest, WhatAnotherWriterDidMeanwhileIsSeenInTheAnswer) {
  ConfigRig rig;
  ASSERT_TRUE(rig.Apply({PutLimits{kAcme, Rpm(1)}}));
  Interfere(rig, 1, [&] { ASSERT_TRUE(rig.Apply({DeleteLimits{kAcme}})); });
  EXPECT_EQ(rig.Apply({DeleteLimits{kAcme}}).error().code, Code::kNotFound);
  Interfere(rig, 1, [&] { ASSERT_TRUE(rig.Apply({CreateEntity{Named("acme")}})); });
  EXPECT_EQ(rig.Apply({CreateEntity{Named("acme")}}).error().code, Code::kAlreadyExists);
  Interfere(rig, 1, [&] { ASSERT_TRUE(rig.Apply({DeleteEntity{"acme"}})); });
  ASSERT_TRUE(rig.Apply({PutEntity{Named("acme")}}));
  EXPECT_EQ(rig.ListIds(), std::vector<std::string>{"acme"});
  EXPECT_EQ(GetNumber(rig.At(rig.keys.EntityConfigRegistry()), "gpt-4"), std::nullopt);
}

TEST(ConfigApplyTest, TwoWritersCannotMakeEachOthersEntityTheParent) {
  ConfigRig rig;
  ASSERT_TRUE(rig.Apply(
      {CreateEntity{Named("a")}, CreateEntity{Named("b", "c")}, CreateEntity{Named("c")}}));
  Interfere(rig, 1, [&] { ASSERT_TRUE(rig.Apply({PutEntity{Named("c", "a")}})); });
  const Status closed = rig.Apply({PutEntity{Named("a", "b")}});
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(closed.error().message, HasSubstr("a -> b -> c -> a"));
}

TEST(ConfigApplyTest, AParentThatIsCreatedMeanwhileIsPartOfTheChain) {
  ConfigRig rig;
  Interfere(rig, 1, [&] { ASSERT_TRUE(rig.Apply({CreateEntity{Named("b", "a")}})); });
  EXPECT_EQ(rig.Apply({CreateEntity{Named("a", "b")}}).error().code, Code::kFailedPrecondition);
}

TEST(ConfigApplyTest, RegistriesThatOthersChangedMeanwhileStayRight) {
  ConfigRig rig;
  const auto put = [](const char* id) { return PutLimits{Level::Entity(id, "x"), Rpm(1)}; };
  const auto cut = [](const char* id) { return DeleteLimits{Level::Entity(id, "x")}; };
  ASSERT_TRUE(rig.Apply({put("a"), put("b"), put("c")}));
  Interfere(rig, 1, [&] { ASSERT_TRUE(rig.Apply({cut("a"), cut("b")})); });
  ASSERT_TRUE(rig.Apply({cut("c")}));
  EXPECT_FALSE(rig.At(rig.keys.EntityConfigRegistry()).contains("x"));
  ASSERT_TRUE(rig.Apply({put("a")}));
  Interfere(rig, 1, [&] { ASSERT_TRUE(rig.Apply({put("b")})); });
  ASSERT_TRUE(rig.Apply({cut("a")}));
  EXPECT_EQ(GetNumber(rig.At(rig.keys.EntityConfigRegistry()), "x"), 1);
}

TEST(ConfigApplyTest, GivesUpWhereOthersAreAlwaysFaster) {
  ConfigRig rig;
  ASSERT_TRUE(rig.Apply({PutLimits{kAcme, Rpm(1)}}));
  std::int64_t tokens = 10;
  Interfere(rig, 1000, [&] { ASSERT_TRUE(rig.Apply({PutLimits{kAcme, Rpm(++tokens)}})); });
  const Status status = rig.Apply({PutLimits{kAcme, Rpm(2)}});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kAborted);
  EXPECT_EQ(tokens, 20);
  EXPECT_EQ(**rig.GetLimits(kAcme), Rpm(20));
}

TEST(ConfigApplyTest, AFailureOfTheTableIsAnsweredAndChangesNothing) {
  ConfigRig rig;
  for (const char* operation : {"BatchGetItem", "TransactWriteItems"}) {
    rig.client.FailFrom(operation, 1, FailureClass::kAuth);
    EXPECT_FALSE(rig.Apply({PutLimits{kAcme, Rpm(1)}}));
    rig.client.FailNoMore();
    EXPECT_EQ(rig.CountItems(), 0U);
  }
}

std::vector<ConfigChange> ManyPuts(int count, std::int64_t tokens) {
  std::vector<ConfigChange> changes;
  for (int i = 0; i < count; ++i) {
    changes.push_back(PutLimits{Level::Entity(fmt::format("e{:04}", i), "x"), Rpm(tokens)});
  }
  return changes;
}

TEST(ConfigApplyPartsTest, ALongListIsMadeInParts) {
  ConfigRig rig;
  ASSERT_TRUE(rig.Apply(ManyPuts(250, 1)));
  EXPECT_EQ(rig.client.Count("TransactWriteItems"), 6);
  EXPECT_EQ(rig.ListLimits().size(), 250U);
  EXPECT_EQ(GetNumber(rig.At(rig.keys.EntityConfigRegistry()), "x"), 250);
}

TEST(ConfigApplyPartsTest, ALongListIsCheckedBeforeItsFirstPart) {
  ConfigRig rig;
  std::vector<ConfigChange> changes = ManyPuts(250, 1);
  changes.push_back(DeleteLimits{Level::Entity("nobody", "x")});
  const Status status = rig.Apply(changes);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kNotFound);
  EXPECT_THAT(status.error().message, HasSubstr("change 251 of 251"));
  EXPECT_EQ(rig.CountItems(), 0U);
}

TEST(ConfigApplyPartsTest, TheErrorSaysHowFarItCameAndApplyingAgainCompletesIt) {
  ConfigRig rig;
  rig.client.FailFrom("TransactWriteItems", 2, FailureClass::kTransient);
  const Status status = rig.Apply(ManyPuts(250, 1));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kUnavailable);
  EXPECT_THAT(status.error().message, HasSubstr("changes 1 to 49 of 250 are made"));
  rig.client.FailNoMore();
  const auto made = rig.ListLimits();
  ASSERT_EQ(made.size(), 49U);
  EXPECT_EQ(made.back().level, Level::Entity("e0048", "x"));
  ASSERT_TRUE(rig.Apply(ManyPuts(250, 1)));
  EXPECT_EQ(rig.ListLimits().size(), 250U);
  EXPECT_EQ(GetNumber(rig.At(rig.keys.EntityConfigRegistry()), "x"), 250);
}

TEST(ConfigApplyPartsTest, ATooLongChainOfParentsIsRefusedWithTheBound) {
  ConfigRig rig;
  std::vector<ConfigChange> changes;
  for (int i = 0; i < 101; ++i) {
    changes.push_back(CreateEntity{Named(fmt::format("e{}", i), fmt::format("e{}", i + 1))});
  }
  ASSERT_TRUE(rig.Apply(changes));
  const Status status = rig.Apply({CreateEntity{Named("last", "e0")}});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kInvalidArgument);
  EXPECT_THAT(status.error().message, HasSubstr("a transaction holds 100"));
  ASSERT_TRUE(rig.Apply({CreateEntity{Named("last", "e50")}}));
}

// A table whose version record has this minimum of clients, and entity acme.
void PutVersion(ConfigRig& rig, std::string_view client_min, Value aggregator = Value{Null{}}) {
  Item record = NewVersionRecord({0}, "");
  record.insert_or_assign("client_min_version", Of(client_min));
  record.insert_or_assign("lambda_version", std::move(aggregator));
  rig.Put(VersionRecord(), record);
  ASSERT_TRUE(rig.Apply({PutEntity{Named("acme", "globex")}}));
}
std::string ClientMinOf(ConfigRig& rig) { return ReadVersion(rig.At(VersionRecord())).client_min; }

// Fails if: a client that does not know that entities move may still open the table.
TEST(ClientMin, IsRaisedWithTheFirstMoveOfAnEntity) {
  ConfigRig rig;
  PutVersion(rig, "0.15.0");
  ASSERT_TRUE(rig.Apply({PutEntity{Named("acme", "globex")}, PutEntity{Named("new", "acme")},
                         PutLimits{kAcme, Rpm(1)}, DeleteEntity{"new"}}));
  EXPECT_EQ(ClientMinOf(rig), "0.15.0");
  ASSERT_TRUE(rig.Apply({PutEntity{Named("acme")}}));
  EXPECT_EQ(ClientMinOf(rig), "0.17.0");
  ASSERT_TRUE(rig.Apply({PutEntity{Named("acme", "other")}}));
  EXPECT_EQ(ClientMinOf(rig), "0.17.0");
}

// Fails if: an entity moves and earlier clients may still open the table.
TEST(ClientMin, WithoutAVersionRecordNoEntityMoves) {
  ConfigRig rig;
  ASSERT_TRUE(rig.Apply({PutEntity{Named("acme", "globex")}}));
  ASSERT_TRUE(Await<void>(
      [&](auto done) { rig.table.DeleteAll({VersionRecord()}, kNever, std::move(done)); }));
  const Status moved = rig.Apply({PutEntity{Named("acme", "other")}});
  ASSERT_FALSE(moved);
  EXPECT_EQ(moved.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(moved.error().message, HasSubstr("no version record"));
}

TEST(ClientMin, IsNeverLowered) {
  ConfigRig rig;
  PutVersion(rig, "0.18.0");
  ASSERT_TRUE(rig.Apply({PutEntity{Named("acme", "other")}}));
  EXPECT_EQ(ClientMinOf(rig), "0.18.0");
}

// Fails if: the condition on the minimum as it was read is missing.
TEST(ClientMin, AMinimumThatIsRaisedMeanwhileStays) {
  ConfigRig rig;
  PutVersion(rig, "0.0.0");
  Interfere(rig, 1, [&] {
    Item record = rig.At(VersionRecord());
    record.insert_or_assign("client_min_version", Of("0.18.0"));
    rig.Put(VersionRecord(), record);
  });
  ASSERT_TRUE(rig.Apply({PutEntity{Named("acme", "other")}}));
  EXPECT_EQ(ClientMinOf(rig), "0.18.0");
}

TEST(ClientMin, AnOlderAggregatorRefusesTheMove) {
  ConfigRig rig;
  PutVersion(rig, "0.0.0", Of("0.16.2"));
  const Status moved = rig.Apply({PutEntity{Named("acme", "other")}});
  ASSERT_FALSE(moved);
  EXPECT_EQ(moved.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(moved.error().message, HasSubstr("0.16.2"));
  EXPECT_EQ(ClientMinOf(rig), "0.0.0");
  PutVersion(rig, "0.0.0", Of("0.17.0"));
  EXPECT_TRUE(rig.Apply({PutEntity{Named("acme", "other")}}));
}

}  // namespace
}  // namespace weir::dynamo
