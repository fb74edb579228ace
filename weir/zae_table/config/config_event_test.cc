// Each change of the configuration and its audit event are both stored, or neither of them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "weir/zae_table/config/config_listing.h"
#include "weir/zae_table/config/config_store.h"
#include "weir/zae_table/testing/zae_sim_table.h"

namespace weir::dynamo {
namespace {

constexpr int kManyPuts = 120;
constexpr int kManyConfigs = 200;

/// Subject, action and resource of an event.
using EventName = std::tuple<std::string, std::string, std::string>;

std::string TextAt(const Item& item, std::string_view name) {
  const std::string* found = GetText(item, name);
  return found == nullptr ? std::string() : *found;
}

struct EventRig {
  EventRig() {
    EXPECT_TRUE(Apply({CreateEntity{{.entity = {.id = "acme"}}}}));
    std::vector<ConfigChange> configs;
    for (int i = 0; i < kManyConfigs; ++i) {
      configs.emplace_back(PutLimits{Level::Entity("acme", fmt::format("r{}", i)), kOne});
    }
    EXPECT_TRUE(Apply(std::move(configs)));
  }

  Status Apply(std::vector<ConfigChange> changes) {
    return sim.Ask<void>(
        [&](Done<void> done) { store.Apply(std::move(changes), kNever, std::move(done)); });
  }
  std::multiset<EventName> Events() {
    std::multiset<EventName> events;
    for (const TableKey& key : sim.AllKeys()) {
      const Item item = sim.Get(key).value_or(Item{});
      if (!item.contains("event_id")) continue;
      events.emplace(TextAt(item, "entity_id"), TextAt(item, "action"), TextAt(item, "resource"));
    }
    return events;
  }
  std::vector<Level> Levels() {
    std::vector<Level> levels;
    for (const TableKey& key : sim.AllKeys()) {
      if (auto level = LevelAt(keys, key)) levels.push_back(*std::move(level));
    }
    return levels;
  }

  static inline const LevelLimits kOne{.limits = {{"rpm", PerMinute(1)}}};
  ZaeSimTable sim;
  Keys keys{"ns"};
  std::uint64_t drawn = 0;
  DynamoConfigStore store{
      sim.table, keys, {.now = [] { return kNewYear; }, .random = [this] { return ++drawn; }}};
};

std::string Numbered(int i) { return fmt::format("e{:04}", i); }

/// Returns more changes than fit into one transaction. The entity `acme` alone has more limits than
/// one transaction deletes.
std::vector<ConfigChange> LongList() {
  std::vector<ConfigChange> changes = {DeleteEntity{"acme"},
                                       CreateEntity{{.entity = {.id = "child", .parent = "top"}}}};
  for (int i = 0; i < kManyPuts; ++i) {
    changes.emplace_back(PutLimits{Level::Entity(Numbered(i), "x"), EventRig::kOne});
  }
  return changes;
}

/// Returns the events of the changes of LongList that are stored, completely or partly.
std::set<EventName> EventsDue(EventRig& rig) {
  std::set<EventName> stored;
  int of_acme = 0;
  for (const Level& level : rig.Levels()) {
    if (level.entity == "acme") {
      ++of_acme;
    } else {
      stored.emplace(level.entity, "limits_set", level.resource);
    }
  }
  const bool has_acme = rig.sim.Get(rig.keys.Entity("acme")).has_value();
  if (of_acme < kManyConfigs || !has_acme) stored.emplace("acme", "entity_deleted", "");
  if (rig.sim.Get(rig.keys.Entity("child"))) stored.emplace("child", "entity_created", "");
  return stored;
}

// Fails if: an event is written after its change, or a part of a change is stored without the
// event.
TEST(ConfigEventTest, Z2WhicheverRequestFailsNoChangeIsStoredWithoutItsEvent) {
  for (const auto fault : {DirectClient::Fault::kUnsent, DirectClient::Fault::kLostResponse}) {
    bool failed = true;
    std::uint64_t nth = 0;
    while (failed && ++nth < 1000) {
      EventRig rig;
      rig.sim.client.FailFrom(nth, fault);
      failed = !rig.Apply(LongList());
      rig.sim.client.Heal();
      const std::multiset<EventName> events = rig.Events();
      for (const EventName& change : EventsDue(rig)) {
        ASSERT_TRUE(events.contains(change))
            << "request " << nth << ": " << std::get<0>(change) << " " << std::get<1>(change);
      }
    }
    EXPECT_GT(nth, 10U) << "requests of the whole list";
    EXPECT_FALSE(failed);
  }
}

// Fails if: a change that is made in parts has an event for each part.
TEST(ConfigEventTest, Z2EachChangeHasOneEvent) {
  EventRig rig;
  const std::size_t before = rig.Events().size();
  const std::uint64_t puts = rig.sim.server.counts().Requests("PutItem");
  ASSERT_TRUE(rig.Apply(LongList()));
  const std::multiset<EventName> events = rig.Events();
  EXPECT_EQ(events.size() - before, LongList().size());
  EXPECT_EQ(events.count({"acme", "entity_deleted", ""}), 1U);
  EXPECT_EQ(events.count({"child", "entity_created", ""}), 1U);
  EXPECT_EQ(events.count({Numbered(kManyPuts - 1), "limits_set", "x"}), 1U);
  EXPECT_EQ(rig.sim.server.counts().Requests("PutItem"), puts) << "no event goes alone";
}

// Fails if: a part of a deletion that is planned again writes a second event.
TEST(ConfigEventTest, Z2ADeletionThatOthersInterruptHasOneEvent) {
  EventRig rig;
  int transactions = 0;
  rig.sim.client.before_each = [&](const JsonCall& call) {
    if (call.operation != "TransactWriteItems" || ++transactions != 2) return;
    ASSERT_TRUE(rig.Apply({DeleteLimits{Level::Entity("acme", "r199")}}));
  };
  ASSERT_TRUE(rig.Apply({DeleteEntity{"acme"}}));
  EXPECT_GT(transactions, 3) << "parts, and one that was planned again";
  EXPECT_EQ(rig.Events().count({"acme", "entity_deleted", ""}), 1U);
  EXPECT_TRUE(rig.Levels().empty());
}

}  // namespace
}  // namespace weir::dynamo
