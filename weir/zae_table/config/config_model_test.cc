// Random lists of changes, compared with the configuration in memory.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "weir/store/config/config_table.h"
#include "weir/zae_table/testing/config_fixture.h"

namespace weir::dynamo {
namespace {

rc::Gen<Level> AnyLevel() {
  const auto entity = rc::gen::element<std::string>("a", "b", "c");
  const auto resource = rc::gen::element<std::string>("x", "y", "z");
  return rc::gen::oneOf(rc::gen::just(Level::System()), rc::gen::map(resource, &Level::Resource),
                        rc::gen::map(entity, &Level::EntityDefault),
                        rc::gen::apply(&Level::Entity, entity, resource));
}

rc::Gen<EntityRecord> AnyRecord() {
  return rc::gen::apply(
      [](std::string id, std::string parent, bool flag) {
        EntityRecord record{.entity = {.id = std::move(id), .name = "n", .cascade = flag}};
        if (!parent.empty()) record.entity.parent = std::move(parent);
        return record;
      },
      rc::gen::element<std::string>("a", "b", "c"),
      rc::gen::element<std::string>("", "a", "b", "d"), rc::gen::arbitrary<bool>());
}

rc::Gen<ConfigChange> AnyChange() {
  const auto tokens = rc::gen::inRange<std::int64_t>(1, 100);
  const auto put = rc::gen::apply(
      [](Level level, std::int64_t n) { return ConfigChange(PutLimits{std::move(level), Rpm(n)}); },
      AnyLevel(), tokens);
  return rc::gen::oneOf(
      put, put,
      rc::gen::map(AnyLevel(), [](Level level) { return ConfigChange(DeleteLimits{level}); }),
      rc::gen::map(AnyRecord(), [](EntityRecord r) { return ConfigChange(CreateEntity{r}); }),
      rc::gen::map(AnyRecord(), [](EntityRecord r) { return ConfigChange(PutEntity{r}); }),
      rc::gen::map(rc::gen::element<std::string>("a", "b", "c"),
                   [](std::string id) { return ConfigChange(DeleteEntity{id}); }));
}

// Fails if: for example, the limits of a deleted entity stay.
RC_GTEST_PROP(ConfigStoreProperty, DoesWhatTheTableInMemoryDoes, ()) {
  ConfigRig rig;
  ConfigTable model;
  rig.client.loses_responses = *rc::gen::arbitrary<bool>();
  rig.server.faults.conflict = 0.2;
  rig.server.faults.unprocessed = 0.2;
  const int lists = *rc::gen::inRange(1, 8);
  for (int i = 0; i < lists; ++i) {
    const auto changes =
        *rc::gen::resize(8, rc::gen::container<std::vector<ConfigChange>>(AnyChange()));
    const Status expected = model.Apply(changes);
    const Status found = rig.Apply(changes);
    if (!found) RC_LOG() << found.error().message << "\n";
    RC_ASSERT(found.has_value() == expected.has_value());
    if (!found) RC_ASSERT(found.error() == expected.error());
  }
  const std::vector<LevelRecord> limits = model.ListLimits({}, {})->items;
  RC_ASSERT(rig.ListLimits() == limits);
  std::map<std::string, std::int64_t> counts;
  std::set<std::string> resources;
  for (const LevelRecord& record : limits) {
    if (record.level.kind == Level::Kind::kResource) resources.insert(record.level.resource);
    if (record.level.kind == Level::Kind::kEntity) ++counts[record.level.resource];
    if (record.level.kind == Level::Kind::kEntityDefault) ++counts["_default_"];
  }
  for (const char* resource : {"x", "y", "z", "_default_"}) {
    const TableKey key = rig.keys.EntityConfigRegistry();
    const auto count = rig.Has(key) ? GetNumber(rig.At(key), resource) : std::nullopt;
    RC_ASSERT(count.value_or(0) == counts[resource]);
  }
  std::set<std::string> members;
  if (rig.Has(rig.keys.ResourceRegistry())) {
    const Item item = rig.At(rig.keys.ResourceRegistry());
    if (const auto* set = GetSet(item, "resources")) {
      members.insert(set->members.begin(), set->members.end());
    }
  }
  RC_ASSERT(members == resources);
  for (const char* id : {"a", "b", "c"}) {
    RC_ASSERT(rig.GetEntities({id})->front() == model.GetEntity(id));
  }
}

}  // namespace
}  // namespace weir::dynamo
