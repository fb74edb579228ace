// Declared limits: setting, finding and listing them, all or none.
#include <algorithm>

#include "weir/store/testing/contract.h"

namespace weir {
namespace {

LevelLimits Limits(std::int64_t tokens) { return {.limits = {Rpm(tokens)}}; }

// Returns one level of each kind, in the order of listings.
std::vector<Level> OneOfEach(const std::string& entity, const std::string& resource) {
  return {Level::System(), Level::Resource(resource), Level::EntityDefault(entity),
          Level::Entity(entity, resource)};
}

// Returns the levels on all pages of a listing.
std::vector<LevelRecord> AllLimits(ContractClient& store, const LevelFilter& filter,
                                   std::size_t limit) {
  return AllPages(limit, [&](const PageRequest& page) { return store.ListLimits(filter, page); });
}

TEST_P(StoreContract, LimitsAreFoundWhereTheyWereSet) {
  const std::string acme = Fresh("acme");
  const std::vector<Level> levels = OneOfEach(acme, "gpt-4");
  const LevelLimits rich{.limits = {Rpm(10), {"tpm", PerHour(7).Burst(9)}}, .managed = true};
  ASSERT_TRUE(store_.Apply({PutLimits{levels[3], rich}, PutLimits{levels[1], Limits(20)}}));
  const auto found = store_.GetLimits({levels[3], levels[2], levels[1], levels[0], levels[3],
                                       Level::Entity(acme, "gpt-5"), Level::Resource("gpt-5"),
                                       Level::Entity(Fresh("acme"), "gpt-4")});
  ASSERT_TRUE(found);
  const std::vector<std::optional<LevelLimits>> expected = {
      rich, std::nullopt, Limits(20), std::nullopt, rich, std::nullopt, std::nullopt, std::nullopt};
  EXPECT_EQ(*found, expected);
  const auto none = store_.GetLimits({});
  EXPECT_TRUE(none && none->empty());
}

TEST_P(StoreContract, AllowancesAreKeptUntilTheyAreSetOtherwise) {
  const Level level = Level::EntityDefault(Fresh("acme"));
  const Limit whole{"rps", PerSecond(1000), milliseconds(500)};
  const Limit fine{"x", {.capacity = 1500, .amount = 250, .period = 700}, kMaxAllowance};
  const LevelLimits some{.limits = {Rpm(10), whole, fine}};
  ASSERT_TRUE(store_.Apply({PutLimits{level, some}}));
  EXPECT_EQ(store_.GetLimits({level})->front(), some);
  const LevelLimits none{.limits = {Rpm(10), {"rps", PerSecond(1000)}}};
  ASSERT_TRUE(store_.Apply({PutLimits{level, none}}));
  EXPECT_EQ(store_.GetLimits({level})->front(), none);
}

// Fails if: a limit of 0 is read back as another one, or as none.
TEST_P(StoreContract, LimitsOf0AreKept) {
  const Quota minutes{.capacity = 0, .amount = 0, .period = 60'000};
  const Quota hours{.capacity = 0, .amount = 0, .period = 3'600'000};
  const LevelLimits blocked{.limits = {{"rpm", minutes}, Limit{"tpm", PerHour(7)}, {"x", hours}}};
  const std::string acme = Fresh("acme");
  for (const Level& level : OneOfEach(acme, "gpt-4")) {
    SCOPED_TRACE(Describe(level));
    ASSERT_TRUE(store_.Apply({PutLimits{level, blocked}}));
    EXPECT_EQ(store_.GetLimits({level})->front(), blocked);
  }
  const auto listed = AllLimits(store_, {.entity = acme}, 10);
  ASSERT_EQ(listed.size(), 2U);
  EXPECT_EQ(listed.front().limits, blocked);
  EXPECT_FALSE(store_.Apply({PutLimits{Level::System(), {.limits = {{"rpm", {0, 5, 60'000}}}}}}));
  EXPECT_FALSE(store_.Apply({PutLimits{Level::System(), {.limits = {{"rpm", {5, 0, 60'000}}}}}}));
}

TEST_P(StoreContract, LimitsAreReplacedAsAWhole) {
  const Level level = Level::EntityDefault(Fresh("acme"));
  ASSERT_TRUE(store_.Apply({PutLimits{level, {.limits = {Rpm(10), {"tpm", PerHour(7)}}}}}));
  ASSERT_TRUE(store_.Apply({PutLimits{level, Limits(30)}}));
  const auto found = store_.GetLimits({level});
  ASSERT_TRUE(found && found->front());
  EXPECT_EQ(*found->front(), Limits(30));
}

TEST_P(StoreContract, LimitsAreDeletedOnce) {
  const std::string acme = Fresh("acme");
  const std::vector<Level> levels = OneOfEach(acme, "gpt-4");
  for (const Level& level : levels) ASSERT_TRUE(store_.Apply({PutLimits{level, Limits(1)}}));
  for (const Level& level : levels) {
    SCOPED_TRACE(Describe(level));
    ASSERT_TRUE(store_.Apply({DeleteLimits{level}}));
    const Error again = ErrorOf(store_.Apply({DeleteLimits{level}}));
    EXPECT_EQ(again.code, Code::kNotFound);
    EXPECT_NE(again.message.find(Describe(level)), again.message.npos) << again.message;
  }
  EXPECT_TRUE(AllLimits(store_, {}, 1000).empty());
}

TEST_P(StoreContract, SystemLevelMayHoldOnUnavailableAlone) {
  const LevelLimits allow{.limits = {}, .on_unavailable = OnUnavailable::kAllow};
  ASSERT_TRUE(store_.Apply({PutLimits{Level::System(), allow}}));
  EXPECT_EQ(AllLimits(store_, {}, 10), (std::vector{LevelRecord{Level::System(), allow}}));
  const LevelLimits both{.limits = {Rpm(1)}, .on_unavailable = OnUnavailable::kBlock};
  ASSERT_TRUE(store_.Apply({PutLimits{Level::System(), both}}));
  const auto found = store_.GetLimits({Level::System()});
  ASSERT_TRUE(found && found->front());
  EXPECT_EQ(*found->front(), both);
}

TEST_P(StoreContract, LimitsAreListedInOrderInPagesOfAnySize) {
  std::vector<LevelRecord> all = {{Level::System(), Limits(1)}};
  const std::string acme = Fresh("acme");
  const std::string globex = Fresh("globex");
  for (const char* resource : {"gpt-4", "gpt-5"}) {
    all.push_back({Level::Resource(resource), Limits(2)});
    all.push_back({Level::Entity(globex, resource), Limits(3)});
    all.push_back({Level::Entity(acme, resource), Limits(4)});
  }
  all.push_back({Level::EntityDefault(globex), Limits(5)});
  for (const auto& [level, limits] : all) ASSERT_TRUE(store_.Apply({PutLimits{level, limits}}));
  std::ranges::sort(all, {}, &LevelRecord::level);
  for (const std::size_t limit : {1U, 2U, 3U, 1000U}) {
    EXPECT_EQ(AllLimits(store_, {}, limit), all) << limit;
    for (const auto kind : {Level::Kind::kSystem, Level::Kind::kResource,
                            Level::Kind::kEntityDefault, Level::Kind::kEntity}) {
      std::vector<LevelRecord> of_kind;
      std::ranges::copy_if(all, std::back_inserter(of_kind),
                           [&](const LevelRecord& record) { return record.level.kind == kind; });
      EXPECT_EQ(AllLimits(store_, {.kind = kind}, limit), of_kind) << limit;
    }
  }
}

TEST_P(StoreContract, ListingOfLimitsRefusesBadPages) {
  ASSERT_TRUE(store_.Apply({PutLimits{Level::Resource("gpt-4"), Limits(1)},
                            PutLimits{Level::Resource("gpt-5"), Limits(1)}}));
  const auto resources =
      store_.ListLimits({.kind = Level::Kind::kResource}, {.cursor = {}, .limit = 1});
  ASSERT_TRUE(resources && !resources->next.empty());
  const auto code = [&](const LevelFilter& filter, PageRequest page) {
    return ErrorOf(store_.ListLimits(filter, std::move(page))).code;
  };
  EXPECT_EQ(code({}, {.cursor = {}, .limit = 0}), Code::kInvalidArgument);
  EXPECT_EQ(code({}, {.cursor = "no cursor", .limit = 1}), Code::kInvalidArgument);
  EXPECT_EQ(code({}, {.cursor = "\n", .limit = 1}), Code::kInvalidArgument);
  EXPECT_EQ(code({.kind = Level::Kind::kEntity}, {.cursor = resources->next, .limit = 1}),
            Code::kInvalidArgument);
  EXPECT_EQ(code({.entity = Fresh("acme")}, {.cursor = resources->next, .limit = 1}),
            Code::kInvalidArgument);
  EXPECT_EQ(code({.entity = Fresh("acme")}, {.cursor = {}, .limit = 0}), Code::kInvalidArgument);
}

// Fails if: the listing of one entity's levels lacks one, includes another entity's, or has another
// order.
TEST_P(StoreContract, Z6TheLevelsOfOneEntityAreListedInPagesOfAnySize) {
  const std::string acme = Fresh("acme");
  // One entity's id is a prefix of the other's, and one resource sorts before the default.
  for (const std::string& entity : {acme, acme + "2"}) {
    for (const char* resource : {"Zeta", "gpt-4", "gpt-5"}) {
      ASSERT_TRUE(store_.Apply({PutLimits{Level::Entity(entity, resource), Limits(3)}}));
    }
    ASSERT_TRUE(store_.Apply({PutLimits{Level::EntityDefault(entity), Limits(5)}}));
  }
  ASSERT_TRUE(store_.Apply({PutLimits{Level::Resource("gpt-4"), Limits(2)}}));
  const std::vector<LevelRecord> all = {{Level::EntityDefault(acme), Limits(5)},
                                        {Level::Entity(acme, "Zeta"), Limits(3)},
                                        {Level::Entity(acme, "gpt-4"), Limits(3)},
                                        {Level::Entity(acme, "gpt-5"), Limits(3)}};
  const std::vector<LevelRecord> default_only(all.begin(), all.begin() + 1);
  const std::vector<LevelRecord> others(all.begin() + 1, all.end());
  for (const std::size_t limit : {1U, 2U, 3U, 4U, 1000U}) {
    EXPECT_EQ(AllLimits(store_, {.entity = acme}, limit), all) << limit;
    const auto of_kind = [&](Level::Kind kind) {
      return AllLimits(store_, {.kind = kind, .entity = acme}, limit);
    };
    EXPECT_EQ(of_kind(Level::Kind::kEntityDefault), default_only) << limit;
    EXPECT_EQ(of_kind(Level::Kind::kEntity), others) << limit;
    EXPECT_TRUE(of_kind(Level::Kind::kResource).empty());
  }
  EXPECT_TRUE(AllLimits(store_, {.entity = Fresh("nobody")}, 10).empty());
}

TEST_P(StoreContract, BadLimitsAreRefusedAndChangeNothing) {
  const std::string acme = Fresh("acme");
  const Level level = Level::EntityDefault(acme);
  const Level system = Level::System();
  const Level mixed{.kind = Level::Kind::kResource, .entity = acme, .resource = "gpt-4"};
  const LevelLimits allow{.limits = {Rpm(1)}, .on_unavailable = OnUnavailable::kAllow};
  const std::vector<std::pair<const char*, ConfigChange>> bad = {
      {"no limits", PutLimits{level, {}}},
      {"nothing at all", PutLimits{system, {}}},
      {"bad quota", PutLimits{level, {.limits = {{"rpm", {0, 1, 1}}}}}},
      {"too long an allowance",
       PutLimits{level, {.limits = {{"rpm", PerMinute(1), milliseconds(60'001)}}}}},
      {"bad name", PutLimits{level, {.limits = {{"r p m", PerMinute(1)}}}}},
      {"one name twice", PutLimits{level, {.limits = {Rpm(1), Rpm(2)}}}},
      {"on_unavailable of an entity", PutLimits{level, allow}},
      {"bad entity", PutLimits{Level::EntityDefault("a#b"), Limits(1)}},
      {"no entity", PutLimits{Level::Entity("", "gpt-4"), Limits(1)}},
      {"bad resource", PutLimits{Level::Entity(acme, "gpt 4"), Limits(1)}},
      {"reserved resource", PutLimits{Level::Resource("_default_"), Limits(1)}},
      {"entity of a resource", PutLimits{mixed, Limits(1)}},
      {"deletes at a bad entity", DeleteLimits{Level::EntityDefault("a\nb")}},
  };
  for (const auto& [what, change] : bad) {
    SCOPED_TRACE(what);
    const Error error =
        ErrorOf(store_.Apply({PutLimits{Level::Resource("gpt-9"), Limits(1)}, change}));
    EXPECT_EQ(error.code, Code::kInvalidArgument);
    EXPECT_NE(error.message.find("change 2 of 2"), error.message.npos) << error.message;
    EXPECT_EQ(error.message.find('\n'), error.message.npos) << error.message;
  }
  EXPECT_TRUE(AllLimits(store_, {}, 10).empty());
}

TEST_P(StoreContract, ChangesAreMadeInOrder) {
  const Level level = Level::EntityDefault(Fresh("acme"));
  ASSERT_TRUE(store_.Apply({PutLimits{level, Limits(1)}, DeleteLimits{level},
                            PutLimits{level, Limits(2)}, PutLimits{level, Limits(3)}}));
  EXPECT_EQ(AllLimits(store_, {}, 10), (std::vector{LevelRecord{level, Limits(3)}}));
  ASSERT_TRUE(store_.Apply({}));
  EXPECT_EQ(ErrorOf(store_.Apply({DeleteLimits{level}, DeleteLimits{level}})).code,
            Code::kNotFound);
  EXPECT_EQ(AllLimits(store_, {}, 10), (std::vector{LevelRecord{level, Limits(3)}}));
}

TEST_P(StoreContract, ChangesAreAllMadeOrNone) {
  const std::string acme = Fresh("acme");
  const std::string globex = Fresh("globex");
  const std::string initech = Fresh("initech");
  const Level replaced = Level::Entity(acme, "gpt-4");
  const Level removed = Level::EntityDefault(acme);
  const EntityRecord entity{.entity = {.id = acme, .name = "Acme", .created_at = kStart}};
  const EntityRecord child{.entity = {.id = globex, .name = "Globex", .parent = acme}};
  ASSERT_TRUE(store_.Apply({PutLimits{replaced, Limits(1)}, PutLimits{removed, Limits(2)},
                            CreateEntity{entity}, CreateEntity{child}}));
  const auto before = AllLimits(store_, {}, 10);
  const Error error = ErrorOf(store_.Apply(
      {PutLimits{replaced, Limits(9)}, DeleteLimits{removed}, DeleteEntity{acme},
       PutLimits{Level::System(), Limits(9)}, PutEntity{{.entity = {.id = globex, .name = "G"}}},
       CreateEntity{{.entity = {.id = initech, .name = "I", .parent = globex}}},
       DeleteLimits{Level::Entity(globex, "gpt-4")}, PutLimits{removed, Limits(9)}}));
  EXPECT_EQ(error.code, Code::kNotFound);
  const std::string named = "change 7 of 8, entity " + globex + ", resource gpt-4";
  EXPECT_NE(error.message.find(named), error.message.npos) << error.message;
  EXPECT_EQ(AllLimits(store_, {}, 10), before);
  const auto entities = store_.ListEntities({}, {});
  ASSERT_TRUE(entities);
  EXPECT_EQ(entities->items, (std::vector{entity, child}));
  const auto children = store_.ListEntities(acme, {});
  ASSERT_TRUE(children);
  EXPECT_EQ(children->items, std::vector{child});
  const auto new_children = store_.ListEntities(globex, {});
  EXPECT_TRUE(new_children && new_children->items.empty());
}

}  // namespace
}  // namespace weir
