// Entities: creating, finding and deleting them, and their parents.
#include <algorithm>

#include "weir/store/testing/contract.h"

namespace weir {
namespace {

EntityRecord Named(const std::string& id, std::optional<std::string> parent = std::nullopt) {
  return {.entity = {.id = id, .name = "name of " + id, .parent = std::move(parent)}};
}

std::vector<EntityRecord> AllEntities(ContractClient& store, std::optional<std::string> parent,
                                      std::size_t limit) {
  return AllPages(limit, [&](const PageRequest& page) { return store.ListEntities(parent, page); });
}

TEST_P(StoreContract, EntitiesAreFoundAsTheyWereCreated) {
  const EntityRecord full{
      .entity = {.id = Fresh("user:acme@example.org"),
                 .name = "Acme, \"the\" company \xE2\x82\xAC",
                 .parent = Fresh("not-there"),
                 .cascade = true,
                 .metadata = {{"plan", "gold"}, {"empty", ""}, {"a b", "\n\t\xC3\xBC"}},
                 .created_at = kStart},
      .managed = true};
  const EntityRecord plain = Named(Fresh("acme"));
  ASSERT_TRUE(store_.Apply({CreateEntity{full}, PutEntity{plain}}));
  const auto found =
      store_.GetEntities({plain.entity.id, Fresh("nobody"), full.entity.id, plain.entity.id});
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, (std::vector<std::optional<EntityRecord>>{plain, std::nullopt, full, plain}));
}

TEST_P(StoreContract, AnEntityWithoutANameIsCalledByItsId) {
  const std::string acme = Fresh("acme");
  ASSERT_TRUE(store_.Apply({CreateEntity{{.entity = {.id = acme}}}}));
  const auto found = store_.GetEntities({acme});
  ASSERT_TRUE(found && found->front());
  EXPECT_EQ(found->front()->entity.name, acme);
}

TEST_P(StoreContract, AnEntityIsCreatedOnce) {
  const EntityRecord first = Named(Fresh("acme"));
  EntityRecord second = first;
  second.entity.name = "another";
  ASSERT_TRUE(store_.Apply({CreateEntity{first}}));
  const Error error = ErrorOf(store_.Apply({CreateEntity{second}}));
  EXPECT_EQ(error.code, Code::kAlreadyExists);
  EXPECT_NE(error.message.find("change 1 of 1, entity " + first.entity.id), error.message.npos)
      << error.message;
  EXPECT_EQ(AllEntities(store_, {}, 10), std::vector{first});
}

TEST_P(StoreContract, ReplacingAnEntityKeepsWhenItWasCreated) {
  const std::string parent = Fresh("parent");
  EntityRecord record = Named(Fresh("acme"), parent);
  record.entity.created_at = kStart;
  ASSERT_TRUE(store_.Apply({PutEntity{record}}));
  EntityRecord next{.entity = {.id = record.entity.id,
                               .name = "another",
                               .cascade = true,
                               .metadata = {{"plan", "gold"}},
                               .created_at = kStart + milliseconds(1)},
                    .managed = true};
  ASSERT_TRUE(store_.Apply({PutEntity{next}}));
  next.entity.created_at = kStart;
  EXPECT_EQ(AllEntities(store_, {}, 10), std::vector{next});
  EXPECT_TRUE(AllEntities(store_, parent, 10).empty());
}

TEST_P(StoreContract, EntitiesAreListedInOrderInPagesOfAnySize) {
  const std::string parent = Fresh("parent");
  std::vector<EntityRecord> all;
  std::vector<EntityRecord> children;
  for (const char* stem : {"m", "a", "zz", "z", "Z", "9", "a:b", "a-b"}) {
    children.push_back(Named(Fresh(stem), parent));
    all.push_back(children.back());
    all.push_back(
        Named(Fresh(stem), stem[0] == 'a' ? std::optional(Fresh("other")) : std::nullopt));
  }
  for (const EntityRecord& record : all) ASSERT_TRUE(store_.Apply({CreateEntity{record}}));
  const auto by_id = [](const EntityRecord& record) { return record.entity.id; };
  std::ranges::sort(all, {}, by_id);
  std::ranges::sort(children, {}, by_id);
  for (const std::size_t limit : {1U, 2U, 3U, 1000U}) {
    EXPECT_EQ(AllEntities(store_, {}, limit), all) << limit;
    EXPECT_EQ(AllEntities(store_, parent, limit), children) << limit;
    EXPECT_TRUE(AllEntities(store_, children[0].entity.id, limit).empty()) << limit;
  }
}

TEST_P(StoreContract, ListingOfEntitiesRefusesBadPages) {
  const std::string parent = Fresh("parent");
  ASSERT_TRUE(store_.Apply({CreateEntity{Named(Fresh("a"), parent)}}));
  for (const auto& of : {std::optional<std::string>(), std::optional(parent)}) {
    for (const PageRequest& page :
         {PageRequest{.cursor = {}, .limit = 0}, PageRequest{.cursor = "no cursor", .limit = 1},
          PageRequest{.cursor = "\n", .limit = 1}}) {
      EXPECT_EQ(ErrorOf(store_.ListEntities(of, page)).code, Code::kInvalidArgument);
    }
  }
}

TEST_P(StoreContract, BadEntitiesAreRefusedAndChangeNothing) {
  const std::vector<std::pair<const char*, ConfigChange>> bad = {
      {"no id", CreateEntity{Named("")}},
      {"bad id", PutEntity{Named("a#b")}},
      {"bad parent", CreateEntity{Named(Fresh("acme"), "a#b")}},
      {"empty parent", PutEntity{Named(Fresh("acme"), "")}},
      {"deletes a bad id", DeleteEntity{"a\nb"}},
  };
  for (const auto& [what, change] : bad) {
    SCOPED_TRACE(what);
    const Error error = ErrorOf(store_.Apply({CreateEntity{Named(Fresh("good"))}, change}));
    EXPECT_EQ(error.code, Code::kInvalidArgument);
    EXPECT_NE(error.message.find("change 2 of 2"), error.message.npos) << error.message;
    EXPECT_EQ(error.message.find('\n'), error.message.npos) << error.message;
  }
  EXPECT_TRUE(AllEntities(store_, {}, 10).empty());
}

TEST_P(StoreContract, NoEntityIsItsOwnAncestor) {
  const std::string a = Fresh("a");
  const std::string b = Fresh("b");
  const std::string c = Fresh("c");
  EXPECT_EQ(ErrorOf(store_.Apply({CreateEntity{Named(a, a)}})).code, Code::kFailedPrecondition);
  // The parent of c is set last, and closes the cycle.
  ASSERT_TRUE(store_.Apply({CreateEntity{Named(a, b)}, CreateEntity{Named(b, c)}}));
  const Error error =
      ErrorOf(store_.Apply({CreateEntity{Named(Fresh("d"))}, CreateEntity{Named(c, a)}}));
  EXPECT_EQ(error.code, Code::kFailedPrecondition);
  EXPECT_NE(error.message.find("change 2 of 2, entity " + c), error.message.npos) << error.message;
  const std::string chain = c + " -> " + a + " -> " + b + " -> " + c;
  EXPECT_NE(error.message.find(chain), error.message.npos) << error.message;
  EXPECT_EQ(AllEntities(store_, {}, 10), (std::vector{Named(a, b), Named(b, c)}));
}

TEST_P(StoreContract, AChainOfParentsMayBeTurnedRoundInOneStep) {
  const std::string a = Fresh("a");
  const std::string b = Fresh("b");
  ASSERT_TRUE(store_.Apply({CreateEntity{Named(a, b)}, CreateEntity{Named(b)}}));
  // After the first change alone, each would be the parent of the other.
  ASSERT_TRUE(store_.Apply({PutEntity{Named(b, a)}, PutEntity{Named(a)}}));
  EXPECT_EQ(AllEntities(store_, a, 10), std::vector{Named(b, a)});
  EXPECT_TRUE(AllEntities(store_, b, 10).empty());
}

TEST_P(StoreContract, DeletingAnEntityTakesItsLimitsAndBucketsAlong) {
  const TargetPtr acme = FreshTarget({Rpm(10)});
  const TargetPtr globex = FreshTarget({Rpm(10)});
  const std::string& id = acme->key.entity;
  const EntityRecord child = Named(Fresh("child"), id);
  const TargetPtr more = MakeTarget({.entity = id, .resource = "gpt-5", .shard = 3}, {Rpm(10)});
  const Level stays = Level::Entity(globex->key.entity, "gpt-4");
  ASSERT_TRUE(store_.Apply({CreateEntity{Named(id)}, CreateEntity{child},
                            PutLimits{Level::EntityDefault(id), {.limits = {Rpm(1)}}},
                            PutLimits{Level::Entity(id, "gpt-4"), {.limits = {Rpm(2)}}},
                            PutLimits{Level::Entity(id, "gpt-5"), {.limits = {Rpm(3)}}},
                            PutLimits{stays, {.limits = {Rpm(4)}}}}));
  ASSERT_TRUE(Ask({Tokens(acme, {9}), Tokens(globex, {9}), Tokens(more, {9})}, kStart).admitted);
  ASSERT_TRUE(store_.Apply({DeleteEntity{id}}));
  EXPECT_EQ(AllEntities(store_, {}, 10), std::vector{child});
  EXPECT_EQ(AllEntities(store_, id, 10), std::vector{child});
  const auto limits = store_.ListLimits({}, {});
  ASSERT_TRUE(limits);
  EXPECT_EQ(limits->items, (std::vector{LevelRecord{stays, {.limits = {Rpm(4)}}}}));
  EXPECT_TRUE(Kept({id}).empty());
  EXPECT_EQ(Balance(acme, kStart), std::vector<std::int64_t>{10'000});
  EXPECT_EQ(Balance(globex, kStart), std::vector<std::int64_t>{1000});
}

TEST_P(StoreContract, AnEntityThatHasOneThingOnlyCanBeDeleted) {
  const TargetPtr used = FreshTarget({Rpm(10)});
  const std::string limited = Fresh("limited");
  const std::string known = Fresh("known");
  ASSERT_TRUE(Ask({Tokens(used, {1})}, kStart).admitted);
  ASSERT_TRUE(store_.Apply({PutLimits{Level::Entity(limited, "gpt-4"), {.limits = {Rpm(2)}}},
                            CreateEntity{Named(known)}}));
  for (const std::string& id : {used->key.entity, limited, known}) {
    SCOPED_TRACE(id);
    EXPECT_TRUE(store_.Apply({DeleteEntity{id}}));
    const Error again = ErrorOf(store_.Apply({DeleteEntity{id}}));
    EXPECT_EQ(again.code, Code::kNotFound);
    EXPECT_NE(again.message.find("change 1 of 1, entity " + id), again.message.npos)
        << again.message;
  }
}

TEST_P(StoreContract, DeletingThatFailsLeavesTheBuckets) {
  const TargetPtr acme = FreshTarget({Rpm(10)});
  ASSERT_TRUE(store_.Apply({CreateEntity{Named(acme->key.entity)}}));
  ASSERT_TRUE(Ask({Tokens(acme, {9})}, kStart).admitted);
  EXPECT_FALSE(store_.Apply({DeleteEntity{acme->key.entity}, DeleteEntity{Fresh("nobody")}}));
  EXPECT_EQ(Balance(acme, kStart), std::vector<std::int64_t>{1000});
}

}  // namespace
}  // namespace weir
