#include "weir/zae_table/config/config_store.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/zae_table/testing/config_fixture.h"

namespace weir::dynamo {
namespace {

using testing::ElementsAre;

// Returns an item as zae-limiter's provisioner writes it: not in a registry, and without GSI3.
Item Provisioned(const std::string& pk) {
  return {{"l_rpm_cp", Of(std::int64_t{3})},
          {"l_rpm_ra", Of(std::int64_t{3})},
          {"l_rpm_rp", Of(std::int64_t{60})},
          {"GSI4PK", Of("ns")},
          {"GSI4SK", Of(pk)}};
}

void PutProvisioned(ConfigRig& rig, const Level& level) {
  const TableKey key = rig.keys.Config(level);
  rig.Put(key, Provisioned(key.pk));
}

TEST(ConfigStoreTest, AllLevelsAreOneConsistentRead) {
  ConfigRig rig;
  const std::vector<Level> levels = {Level::Entity("acme", "gpt-4"), Level::EntityDefault("acme"),
                                     Level::Resource("gpt-4"), Level::System()};
  ASSERT_TRUE(rig.Apply({PutLimits{levels[1], Rpm(1)}}));
  const int before = rig.client.Count("BatchGetItem");
  rig.server.faults.stale_read = 1;
  const auto found = rig.GetLimits(levels);
  ASSERT_TRUE(found);
  EXPECT_THAT(*found, ElementsAre(std::nullopt, Rpm(1), std::nullopt, std::nullopt));
  EXPECT_EQ(rig.client.Count("BatchGetItem"), before + 1);
}

TEST(ConfigStoreTest, ManyAreReadInSeveralCallsAndLeftOversAgain) {
  ConfigRig rig;
  std::vector<Level> levels;
  std::vector<std::string> ids;
  std::vector<ConfigChange> changes;
  for (int i = 0; i < 250; ++i) {
    ids.push_back(fmt::format("e{:03}", i));
    levels.push_back(Level::EntityDefault(ids.back()));
    changes.push_back(PutLimits{levels.back(), Rpm(i + 1)});
    changes.push_back(CreateEntity{{.entity = {.id = ids.back(), .name = "n"}}});
  }
  rig.server.faults.unprocessed = 0.3;
  ASSERT_TRUE(rig.Apply(changes));
  const auto limits = rig.GetLimits(levels);
  const auto entities = rig.GetEntities(ids);
  ASSERT_TRUE(limits && entities);
  for (std::size_t i = 0; i < 250; ++i) {
    EXPECT_EQ((*limits)[i], Rpm(static_cast<std::int64_t>(i) + 1));
    EXPECT_TRUE((*entities)[i] && (*entities)[i]->entity.id == ids[i]);
  }
  EXPECT_EQ(rig.ListIds(), ids);
  EXPECT_EQ(rig.ListIds({}, 7), ids);
  EXPECT_GT(rig.server.counts().unprocessed, 0U);
}

TEST(ConfigStoreTest, NamespacesShareNothing) {
  ConfigRig rig;
  DynamoConfigStore other(rig.table, Keys("ns2"),
                          {.now = [] { return UnixMillis{1}; }, .random = [] { return 7; }});
  ASSERT_TRUE(
      rig.Apply({PutLimits{Level::System(), Rpm(1)}, PutLimits{Level::Resource("x"), Rpm(1)},
                 CreateEntity{{.entity = {.id = "acme"}}}}));
  const auto limits = Await<Page<LevelRecord>>(
      [&](auto done) { other.ListLimits({}, {}, kNever, std::move(done)); });
  EXPECT_TRUE(limits && limits->items.empty());
  const auto entities = Await<Page<EntityRecord>>(
      [&](auto done) { other.ListEntities({}, {}, kNever, std::move(done)); });
  EXPECT_TRUE(entities && entities->items.empty());
}

TEST(ConfigListingTest, ShowsWhatWritersWithoutRegistriesHaveSet) {
  ConfigRig rig;
  const std::vector<Level> levels = {Level::System(),
                                     Level::Resource("b"),
                                     Level::EntityDefault("acme"),
                                     Level::Entity("acme", "a:b"),
                                     Level::Entity("acme", "z"),
                                     Level::Entity("b", "a")};
  for (const Level& level : levels) PutProvisioned(rig, level);
  ASSERT_TRUE(rig.Apply({PutLimits{Level::Resource("a"), Rpm(3)}}));
  for (const std::size_t limit : {1U, 2U, 100U}) {
    std::vector<Level> listed;
    for (const LevelRecord& record : rig.ListLimits({}, limit)) listed.push_back(record.level);
    std::vector<Level> expected = levels;
    expected.insert(expected.begin() + 1, Level::Resource("a"));
    EXPECT_EQ(listed, expected) << limit;
  }
}

// The index returns the items of one partition in no order, and thousands of other items between
// two levels.
TEST(ConfigListingTest, UsageRecordsBetweenAreNoHindrance) {
  ConfigRig rig;
  std::vector<Level> levels;
  for (const std::string id : {"a", "b", "c"}) {
    for (int i = 0; i < 700; ++i) {
      rig.Put({rig.keys.EntityPartition(id), fmt::format("#USAGE#r#{}", i)},
              {{"GSI4PK", Of("ns")}, {"GSI4SK", Of(rig.keys.EntityPartition(id))}});
    }
    for (const char* resource : {"x", "a", "m"}) {
      ASSERT_TRUE(rig.Apply({PutLimits{Level::Entity(id, resource), Rpm(1)}}));
    }
    for (const char* resource : {"a", "m", "x"}) levels.push_back(Level::Entity(id, resource));
    ASSERT_TRUE(rig.Apply({CreateEntity{{.entity = {.id = id}}}}));
  }
  for (const std::size_t limit : {1U, 4U, 1000U}) {
    std::vector<Level> listed;
    for (const LevelRecord& record : rig.ListLimits({}, limit)) listed.push_back(record.level);
    EXPECT_EQ(listed, levels) << limit;
    EXPECT_EQ(rig.ListIds({}, limit), (std::vector<std::string>{"a", "b", "c"})) << limit;
  }
}

// Fails if: items of other entities are read, or an index is used, which may lag.
TEST(ConfigListingTest, Z6TheLevelsOfOneEntityAreOneQueryOfItsPartition) {
  ConfigRig rig;
  std::vector<ConfigChange> changes;
  for (int i = 0; i < 300; ++i) {
    const std::string id = fmt::format("e{:03}", i);
    changes.emplace_back(CreateEntity{Named(id)});
    changes.emplace_back(PutLimits{Level::Entity(id, "x"), Rpm(i + 1)});
    changes.emplace_back(PutLimits{Level::EntityDefault(id), Rpm(7)});
  }
  ASSERT_TRUE(rig.Apply(std::move(changes)));
  rig.Put(rig.keys.Config(Level::Entity("e042", "a:b")), {{"disabled", Of(true)}});
  const int queries = rig.client.Count("Query");
  const std::uint64_t before = rig.server.counts().AllRequests();
  const double units = rig.server.counts().read_units;
  const auto page = Await<Page<LevelRecord>>(
      [&](auto done) { rig.store.ListLimits({.entity = "e042"}, {}, kNever, std::move(done)); });
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(page->items, (std::vector<LevelRecord>{{Level::EntityDefault("e042"), Rpm(7)},
                                                   {Level::Entity("e042", "x"), Rpm(43)}}));
  EXPECT_EQ(page->unreadable.size(), 1U);
  EXPECT_EQ(rig.client.Count("Query") - queries, 1);
  EXPECT_EQ(rig.server.counts().AllRequests() - before, 1U);
  EXPECT_LE(rig.server.counts().read_units - units, 1);
}

TEST(ConfigListingTest, AnIndexThatLagsShowsNothingThatIsGone) {
  ConfigRig rig;
  const auto create = [](const char* id, const char* parent) {
    return CreateEntity{{.entity = {.id = id, .name = id, .parent = parent}}};
  };
  ASSERT_TRUE(rig.Apply({create("a", "p"), create("b", "p"), create("c", "p"),
                         PutLimits{Level::Resource("x"), Rpm(1)}}));
  rig.server.faults.longest_index_lag = std::chrono::hours(1);
  ASSERT_TRUE(rig.Apply({DeleteEntity{"a"}, DeleteLimits{Level::Resource("x")},
                         PutEntity{{.entity = {.id = "b", .parent = "other"}}}}));
  EXPECT_EQ(rig.ListIds("p"), std::vector<std::string>{"c"});
  EXPECT_EQ(rig.ListIds(), (std::vector<std::string>{"b", "c"}));
  EXPECT_TRUE(rig.ListLimits().empty());
}

TEST(ConfigListingTest, ResourcesAreShownBeforeTheIndexShowsThem) {
  ConfigRig rig;
  PutProvisioned(rig, Level::Resource("m"));
  rig.server.faults.longest_index_lag = std::chrono::hours(1);
  ASSERT_TRUE(rig.Apply(
      {PutLimits{Level::Resource("a"), Rpm(1)}, PutLimits{Level::Resource("z"), Rpm(1)}}));
  for (const std::size_t limit : {1U, 2U, 10U}) {
    std::vector<Level> listed;
    for (const LevelRecord& record : rig.ListLimits({}, limit)) listed.push_back(record.level);
    EXPECT_THAT(listed,
                ElementsAre(Level::Resource("a"), Level::Resource("m"), Level::Resource("z")));
  }
}

TEST(ConfigListingTest, Z109AnItemThatUsesMoreIsReportedAndHidesNoOther) {
  ConfigRig rig;
  ASSERT_TRUE(
      rig.Apply({PutLimits{Level::System(), Rpm(1)}, PutLimits{Level::Resource("z"), Rpm(1)}}));
  rig.Put(rig.keys.Config(Level::Resource("x")),
          {{"disabled", Of(true)}, {"GSI4PK", Of("ns")}, {"GSI4SK", Of("ns/RESOURCE#x")}});
  const auto page = Await<Page<LevelRecord>>(
      [&](auto done) { rig.store.ListLimits({}, {}, kNever, std::move(done)); });
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(page->items.size(), 2U);
  ASSERT_EQ(page->unreadable.size(), 1U);
  EXPECT_THAT(page->unreadable[0], testing::HasSubstr("x"));
}

TEST(ConfigListingTest, CursorsOfOtherListingsAreRefused) {
  ConfigRig rig;
  const auto code = [&](const LevelFilter& filter, std::string cursor) {
    return Await<Page<LevelRecord>>([&](auto done) {
             rig.store.ListLimits(filter, {.cursor = std::move(cursor)}, kNever, std::move(done));
           })
        .error()
        .code;
  };
  for (const char* cursor : {"4 a b", "1", "1 ", "1 a", "x", "1 a b c", "e1", "\n", "11a b"}) {
    EXPECT_EQ(code({}, cursor), Code::kInvalidArgument) << cursor;
  }
  EXPECT_EQ(code({.kind = Level::Kind::kEntity}, "1  gpt-4"), Code::kInvalidArgument);
  EXPECT_EQ(code({.entity = "acme"}, "3 globex gpt-4"), Code::kInvalidArgument);
  for (const auto& [parent, cursor] :
       {std::pair<std::optional<std::string>, std::string>{std::nullopt, "cacme"},
        {"p", "eacme"},
        {std::nullopt, "e"},
        {std::nullopt, "ea#b"},
        {"p", "acme"}}) {
    const auto page = Await<Page<EntityRecord>>([&](auto done) {
      rig.store.ListEntities(parent, {.cursor = cursor}, kNever, std::move(done));
    });
    ASSERT_FALSE(page) << cursor;
    EXPECT_EQ(page.error().code, Code::kInvalidArgument);
  }
}

TEST(ConfigListingTest, APageMayBeAsLargeAsANumberCanSay) {
  ConfigRig rig;
  ASSERT_TRUE(
      rig.Apply({PutLimits{Level::System(), Rpm(1)}, CreateEntity{{.entity = {.id = "acme"}}}}));
  EXPECT_EQ(rig.ListLimits({}, SIZE_MAX).size(), 1U);
  EXPECT_EQ(rig.ListIds({}, SIZE_MAX).size(), 1U);
}

}  // namespace
}  // namespace weir::dynamo
