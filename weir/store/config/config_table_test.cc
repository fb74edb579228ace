#include "weir/store/config/config_table.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <ostream>

#include "weir/store/testing/contract_print.h"

namespace weir {

// For RapidCheck, which does not find operators in unnamed namespaces.
std::ostream& operator<<(std::ostream& out, const ConfigChange& change) {
  const char* const verbs[] = {"put limits", "delete limits", "create", "put", "delete"};
  out << verbs[change.index()] << ' ' << Describe(change);
  const auto* create = std::get_if<CreateEntity>(&change);
  const auto* put = std::get_if<PutEntity>(&change);
  if (create != nullptr) out << " under " << create->record.entity.parent.value_or("none");
  if (put != nullptr) out << " under " << put->record.entity.parent.value_or("none");
  return out;
}

namespace {

LevelLimits Limits(std::int64_t tokens) { return {.limits = {{"rpm", PerMinute(tokens)}}}; }

EntityRecord Named(const std::string& id, std::optional<std::string> parent = std::nullopt) {
  return {.entity = {.id = id, .name = id, .parent = std::move(parent)}};
}

Error ErrorOf(const Status& status) { return status ? Error{} : status.error(); }

std::optional<Code> CodeOf(const Status& status) {
  return status ? std::nullopt : std::optional(status.error().code);
}

std::vector<EntityRecord> Entities(const ConfigTable& table) {
  return table.ListEntities({}, {}).value().items;
}

TEST(ConfigStoreTest, DescribesLevelsAndChanges) {
  EXPECT_EQ(Describe(Level::System()), "system");
  EXPECT_EQ(Describe(Level::Resource("gpt-4")), "resource gpt-4");
  EXPECT_EQ(Describe(Level::EntityDefault("acme")), "entity acme");
  EXPECT_EQ(Describe(Level::Entity("acme", "gpt-4")), "entity acme, resource gpt-4");
  const std::vector<std::pair<ConfigChange, std::string>> changes = {
      {PutLimits{Level::Resource("gpt-4"), {}}, "resource gpt-4"},
      {DeleteLimits{Level::System()}, "system"},
      {CreateEntity{Named("acme")}, "entity acme"},
      {PutEntity{Named("acme")}, "entity acme"},
      {DeleteEntity{"acme"}, "entity acme"}};
  for (const auto& [change, text] : changes) EXPECT_EQ(Describe(change), text);
}

TEST(ConfigTableTest, ErrorsNameTheChangeAndWhatIsWrong) {
  ConfigTable table;
  const ConfigChange good = PutLimits{Level::System(), Limits(1)};
  const auto message = [&](const ConfigChange& bad) {
    return ErrorOf(table.Apply(std::vector{good, good, bad, good})).message;
  };
  EXPECT_EQ(message(DeleteLimits{Level::Entity("acme", "gpt-4")}),
            "change 3 of 4, entity acme, resource gpt-4: nothing is set there");
  EXPECT_EQ(message(DeleteEntity{"acme"}),
            "change 3 of 4, entity acme: it has no entry, no limits and no buckets");
  EXPECT_TRUE(message(PutLimits{Level::Resource("gpt-4"), {}})
                  .starts_with("change 3 of 4, resource gpt-4: "));
  EXPECT_EQ(message(PutLimits{Level::EntityDefault("acme"),
                              {.limits = {}, .on_unavailable = OnUnavailable::kAllow}}),
            "change 3 of 4, entity acme: on_unavailable can be set at the system level only");
  EXPECT_EQ(
      message(CreateEntity{Named("acme", "acme")}),
      "change 3 of 4, entity acme: its parents lead back to it: acme -> acme; give one of these "
      "entities another parent");
}

TEST(ConfigTableTest, ACycleIsShownFromTheChangeThatClosedIt) {
  ConfigTable table;
  ASSERT_TRUE(table.Apply(std::vector<ConfigChange>{CreateEntity{Named("d", "a")}}));
  const Error error = ErrorOf(table.Apply(
      std::vector<ConfigChange>{CreateEntity{Named("a", "b")}, CreateEntity{Named("c", "d")},
                                CreateEntity{Named("b", "c")}, CreateEntity{Named("e", "a")}}));
  EXPECT_EQ(error.message,
            "change 3 of 4, entity b: its parents lead back to it: b -> c -> d -> a -> b; give one "
            "of these entities another parent");
}

TEST(ConfigTableTest, ALongCycleIsShownInPart) {
  ConfigTable table;
  std::vector<ConfigChange> changes;
  for (int i = 0; i < 1000; ++i) {
    changes.push_back(CreateEntity{Named("e" + std::to_string(i), "e" + std::to_string(i + 1))});
  }
  ASSERT_TRUE(table.Apply(changes));
  const Error error =
      ErrorOf(table.Apply(std::vector<ConfigChange>{CreateEntity{Named("e1000", "e0")}}));
  EXPECT_EQ(error.code, Code::kFailedPrecondition);
  EXPECT_NE(error.message.find("e1000 -> e0 -> e1 -> e2 -> e3 -> e4 -> e5 -> e6 -> ... -> e1000"),
            error.message.npos)
      << error.message;
}

TEST(ConfigTableTest, AsksForBucketsOnlyOfEntitiesThatHaveNothingElse) {
  ConfigTable table;
  std::vector<std::string> asked;
  const auto has_buckets = [&](const std::string& id) {
    asked.push_back(id);
    return id == "used";
  };
  const auto erase = [&](const std::string& id) {
    return CodeOf(table.Apply(std::vector<ConfigChange>{DeleteEntity{id}}, has_buckets));
  };
  ASSERT_TRUE(table.Apply(std::vector<ConfigChange>{
      CreateEntity{Named("known")}, PutLimits{Level::Entity("limited", "r"), Limits(1)}}));
  EXPECT_EQ(erase("known"), std::nullopt);
  EXPECT_EQ(erase("limited"), std::nullopt);
  EXPECT_TRUE(asked.empty());
  EXPECT_EQ(erase("used"), std::nullopt);
  EXPECT_EQ(erase("unused"), Code::kNotFound);
  EXPECT_EQ(asked, (std::vector<std::string>{"used", "unused"}));
}

TEST(ConfigTableTest, AListingGoesOnWhereItsLastItemWasDeleted) {
  ConfigTable table;
  std::vector<ConfigChange> changes;
  for (const char* id : {"a", "b", "c", "d"}) {
    changes.push_back(CreateEntity{Named(id, "p")});
    changes.push_back(PutLimits{Level::EntityDefault(id), Limits(1)});
  }
  ASSERT_TRUE(table.Apply(changes));
  const auto all = table.ListEntities({}, {.cursor = {}, .limit = 2}).value();
  const auto children = table.ListEntities("p", {.cursor = {}, .limit = 2}).value();
  const auto levels = table.ListLimits({}, {.cursor = {}, .limit = 2}).value();
  ASSERT_TRUE(table.Apply(std::vector<ConfigChange>{DeleteEntity{"b"}}));
  const std::vector<EntityRecord> rest = {Named("c", "p"), Named("d", "p")};
  EXPECT_EQ(table.ListEntities({}, {.cursor = all.next, .limit = 2}).value().items, rest);
  EXPECT_EQ(table.ListEntities("p", {.cursor = children.next, .limit = 2}).value().items, rest);
  const auto more = table.ListLimits({}, {.cursor = levels.next, .limit = 2}).value();
  ASSERT_EQ(more.items.size(), 2U);
  EXPECT_EQ(more.items[0].level, Level::EntityDefault("c"));
  EXPECT_EQ(more.next, "");
}

TEST(ConfigTableTest, ACursorBelongsToOneListing) {
  ConfigTable table;
  std::vector<ConfigChange> changes;
  for (const char* id : {"a", "b"}) {
    changes.push_back(CreateEntity{Named(id, "p")});
    changes.push_back(PutLimits{Level::EntityDefault(id), Limits(1)});
  }
  ASSERT_TRUE(table.Apply(changes));
  const auto all = table.ListEntities({}, {.cursor = {}, .limit = 1}).value().next;
  const auto children = table.ListEntities("p", {.cursor = {}, .limit = 1}).value().next;
  const auto levels = table.ListLimits({}, {.cursor = {}, .limit = 1}).value().next;
  EXPECT_FALSE(table.ListEntities({}, {.cursor = children, .limit = 1}));
  EXPECT_FALSE(table.ListEntities({}, {.cursor = levels, .limit = 1}));
  EXPECT_FALSE(table.ListEntities("p", {.cursor = all, .limit = 1}));
  EXPECT_FALSE(table.ListLimits({}, {.cursor = all, .limit = 1}));
  EXPECT_FALSE(table.ListLimits({.kind = Level::Kind::kEntity}, {.cursor = levels, .limit = 1}));
  EXPECT_TRUE(
      table.ListLimits({.kind = Level::Kind::kEntityDefault}, {.cursor = levels, .limit = 1}));
}

// The simplest implementation of ConfigStore's rules: it works on a copy and has no index.
class ObviousTable {
 public:
  // Returns the error, or nothing if all changes were made.
  std::optional<Code> Apply(const std::vector<ConfigChange>& changes) {
    ObviousTable copy = *this;
    for (const ConfigChange& change : changes) {
      if (!Check(change)) return Code::kInvalidArgument;
      const auto code = std::visit([&](const auto& one) { return copy.Make(one); }, change);
      if (code) return code;
    }
    for (const auto& [id, record] : copy.entities) {
      if (copy.IsItsOwnAncestor(id)) return Code::kFailedPrecondition;
    }
    *this = std::move(copy);
    return std::nullopt;
  }

  std::vector<EntityRecord> ChildrenOf(const std::string& parent) const {
    std::vector<EntityRecord> children;
    for (const auto& [id, record] : entities) {
      if (record.entity.parent == parent) children.push_back(record);
    }
    return children;
  }

  std::map<Level, LevelLimits> limits;
  std::map<std::string, EntityRecord> entities;

 private:
  static std::optional<Code> Unless(bool made, Code code) {
    return made ? std::nullopt : std::optional(code);
  }
  std::optional<Code> Make(const PutLimits& put) {
    limits[put.level] = put.limits;
    return std::nullopt;
  }
  std::optional<Code> Make(const DeleteLimits& change) {
    return Unless(limits.erase(change.level) > 0, Code::kNotFound);
  }
  std::optional<Code> Make(const CreateEntity& create) {
    const bool created = entities.insert({create.record.entity.id, create.record}).second;
    return Unless(created, Code::kAlreadyExists);
  }
  std::optional<Code> Make(const PutEntity& put) {
    EntityRecord record = put.record;
    const auto old = entities.find(record.entity.id);
    if (old != entities.end()) record.entity.created_at = old->second.entity.created_at;
    entities[record.entity.id] = record;
    return std::nullopt;
  }
  std::optional<Code> Make(const DeleteEntity& change) {
    const auto limited =
        std::erase_if(limits, [&](const auto& named) { return named.first.entity == change.id; });
    return Unless(entities.erase(change.id) + limited > 0, Code::kNotFound);
  }
  bool IsItsOwnAncestor(const std::string& id) const {
    std::optional<std::string> at = entities.at(id).entity.parent;
    for (std::size_t steps = 0; at && steps <= entities.size(); ++steps) {
      if (*at == id) return true;
      const auto found = entities.find(*at);
      at = found == entities.end() ? std::nullopt : found->second.entity.parent;
    }
    return false;
  }
};

rc::Gen<ConfigChange> AnyChange() {
  return rc::gen::exec([] {
    const std::string id = *rc::gen::element<std::string>("a", "b", "c", "d");
    const std::string resource = *rc::gen::element<std::string>("x", "y");
    const Level level = *rc::gen::element(Level::System(), Level::Resource(resource),
                                          Level::EntityDefault(id), Level::Entity(id, resource));
    EntityRecord record = Named(id);
    if (*rc::gen::weightedElement<bool>({{2, true}, {1, false}})) {
      record.entity.parent = *rc::gen::element<std::string>("a", "b", "c", "d");
    }
    record.entity.created_at = {*rc::gen::inRange<std::int64_t>(0, 1000)};
    // One in twenty is invalid.
    const std::int64_t tokens = *rc::gen::inRange<std::int64_t>(0, 20);
    return *rc::gen::weightedElement<ConfigChange>({{4, PutLimits{level, Limits(tokens)}},
                                                    {1, DeleteLimits{level}},
                                                    {2, CreateEntity{record}},
                                                    {4, PutEntity{record}},
                                                    {1, DeleteEntity{id}}});
  });
}

void CheckSame(const ConfigTable& table, const ObviousTable& expected) {
  std::vector<LevelRecord> limits;
  for (const auto& [level, at_level] : expected.limits) limits.push_back({level, at_level});
  RC_ASSERT(table.ListLimits({}, {}).value().items == limits);
  std::vector<EntityRecord> entities;
  for (const auto& [id, record] : expected.entities) entities.push_back(record);
  RC_ASSERT(Entities(table) == entities);
  for (const char* parent : {"a", "b", "c", "d"}) {
    RC_ASSERT(table.ListEntities(parent, {}).value().items == expected.ChildrenOf(parent));
  }
}

// Fails if: a list of changes that fails is undone in its own order, or not at all; the children of
// an entity are not updated with its parent; deleting an entity leaves limits; the search for a
// cycle starts from the first changed entity only.
RC_GTEST_PROP(ConfigTableProperty, AgreesWithAnObviousTable, ()) {
  ConfigTable table;
  ObviousTable expected;
  const auto lists = *rc::gen::container<std::vector<std::vector<ConfigChange>>>(
      rc::gen::resize(4, rc::gen::container<std::vector<ConfigChange>>(AnyChange())));
  for (const std::vector<ConfigChange>& changes : lists) {
    RC_ASSERT(CodeOf(table.Apply(changes)) == expected.Apply(changes));
    CheckSame(table, expected);
  }
}

}  // namespace
}  // namespace weir
