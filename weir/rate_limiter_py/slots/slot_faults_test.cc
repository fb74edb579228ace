// The Nth call of DynamoDB fails, for every N, before or after it is applied; then the method is
// called again. In the end the table must be as without a failure.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "weir/rate_limiter_py/testing/slot_fixture.h"

namespace weir::rate_limiter_py {
namespace {

using dynamo::DirectClient;
using std::chrono::hours;
using std::chrono::seconds;

constexpr milliseconds kTtl = seconds(30);

struct World {
  SlotTable table;
  SlotClient client{table};
  UnixMillis now = kNewYear;

  Result<ClaimResult> Claim(std::uint64_t id, std::int64_t limit = 100, milliseconds ttl = kTtl) {
    return client.Claim({.slot = {kEmr, IdOf(id)}, .limit = limit, .ttl = ttl}, now);
  }
  void Bind(std::uint64_t id, const std::string& resource_id) {
    ASSERT_TRUE(client.Bind({kEmr, IdOf(id)}, resource_id, hours(8), now));
  }
};

struct Verb {
  std::string name;
  std::function<void(World&)> prepare;
  std::function<Status(World&)> ask;
};

template <class T>
Status StatusOf(const Result<T>& result) {
  return result ? Status() : Status(Fail(result.error()));
}

const SlotRef kFirst{kEmr, IdOf(1)};

void Nothing(World&) {}
void HoldOne(World& world) { ASSERT_TRUE(world.Claim(1)->slot); }

std::vector<Verb> Claims() {
  const auto claim = [](std::int64_t limit) {
    return [limit](World& world) { return StatusOf(world.Claim(50, limit)); };
  };
  return {
      {"the first claim", Nothing, claim(1)},
      {"a claim beside others",
       [](World& world) {
         HoldOne(world);
         world.table.PyReserve(kEmr, "1f", world.now + hours(1));
       },
       claim(3)},
      {"a claim that is refused", HoldOne, claim(1)},
      {"a claim of a place that expired",
       [](World& world) {
         HoldOne(world);
         world.now = world.now + kTtl + seconds(1);
       },
       claim(1)},
      {"a claim of a place that was deleted",
       [](World& world) {
         HoldOne(world);
         world.table.PyDelete(kEmr, IdOf(1));
         world.now = world.now + seconds(20);
       },
       claim(1)},
      {"a claim that sweeps",
       [](World& world) {
         for (std::uint64_t i = 0; i < 64; ++i) {
           world.now = world.now + milliseconds(500);
           ASSERT_TRUE(world.Claim(100 + i)->slot);
         }
       },
       claim(100)},
  };
}

std::vector<Verb> Moves() {
  const auto bind = [](World& world) {
    return StatusOf(world.client.Bind(kFirst, "j-1", hours(8), world.now));
  };
  return {
      {"a binding", HoldOne, bind},
      {"a binding of one of theirs",
       [](World& world) { world.table.PyReserve(kEmr, "1f", world.now + kTtl); },
       [](World& world) {
         return StatusOf(world.client.Bind({kEmr, "1f"}, "j-1", hours(8), world.now));
       }},
      {"a binding to what has ended",
       [](World& world) {
         HoldOne(world);
         const UnixMillis end = world.now + seconds(1);
         ASSERT_TRUE(world.client.ReleaseResource({"j-1", end, end + hours(1)}, end));
       },
       [bind](World& world) {
         const Status bound = bind(world);
         EXPECT_FALSE(bound);
         // The slot is released; a repeated call finds none.
         const bool is_told = bound.error().code == Code::kFailedPrecondition ||
                              bound.error().code == Code::kNotFound;
         return is_told ? Status() : bound;
       }},
      {"a renewal", HoldOne,
       [](World& world) { return StatusOf(world.client.Renew(kFirst, hours(1), world.now)); }},
      {"a renewal without a roster",
       [](World& world) {
         HoldOne(world);
         world.table.PyDelete(kEmr, RosterKey(kEmr).sk);
       },
       [](World& world) { return StatusOf(world.client.Renew(kFirst, hours(1), world.now)); }},
  };
}

std::vector<Verb> Releases() {
  const auto release = [](World& world) {
    return StatusOf(world.client.Release(kFirst, world.now));
  };
  const auto end = [](World& world) {
    return StatusOf(
        world.client.ReleaseResource({"j-1", world.now, world.now + hours(1)}, world.now));
  };
  return {
      {"a release", HoldOne, release},
      {"a release of a place that was given away",
       [](World& world) {
         HoldOne(world);
         world.now = world.now + kTtl + seconds(1);
         ASSERT_TRUE(world.Claim(2, 1)->slot);
       },
       release},
      {"the end of a thing",
       [](World& world) {
         for (std::uint64_t id = 1; id <= 3; ++id) {
           ASSERT_TRUE(world.Claim(id)->slot);
           world.Bind(id, id == 3 ? "j-2" : "j-1");
         }
       },
       end},
      {"the end of a thing that is not known", HoldOne, end},
  };
}

// Returns the table's contents, except for versions and times of a roster, and tombstones: an end
// that is reported twice may leave an unneeded one.
std::vector<std::string> State(World& world) {
  std::vector<std::string> lines;
  for (const dynamo::TableKey& at : world.table.sim.AllKeys()) {
    if (at.sk == RosterKey(kEmr).sk || at == EndedKey("j-1")) continue;
    AppendJson(lines.emplace_back(), *world.table.sim.Get(at));
  }
  const Roster roster = world.table.RosterOf(kEmr);
  lines.push_back("held " + std::to_string(roster.held));
  for (const auto& [second, slots] : roster.expiring) {
    if (slots == 0) continue;
    lines.push_back(std::to_string(second) + ": " + std::to_string(slots));
  }
  return lines;
}

// Returns the number of calls that the method makes, and the contents afterwards.
std::pair<std::uint64_t, std::vector<std::string>> RunWell(const Verb& verb) {
  World world;
  verb.prepare(world);
  const std::uint64_t before = world.table.sim.client.calls();
  EXPECT_TRUE(verb.ask(world)) << verb.name;
  const std::uint64_t calls = world.table.sim.client.calls() - before;
  return {calls, State(world)};
}

void FailEachCall(const Verb& verb, DirectClient::Fault fault) {
  const auto [calls, state] = RunWell(verb);
  for (std::uint64_t nth = 1; nth <= calls; ++nth) {
    SCOPED_TRACE(verb.name + ", call " + std::to_string(nth));
    World world;
    verb.prepare(world);
    world.table.sim.client.FailFrom(nth, fault);
    const Status failed = verb.ask(world);
    ASSERT_FALSE(failed);
    EXPECT_TRUE(failed.error().code == Code::kUnavailable ||
                failed.error().code == Code::kDeadlineExceeded)
        << failed.error().message;
    world.table.sim.client.Heal();
    EXPECT_TRUE(verb.ask(world));
    EXPECT_EQ(State(world), state);
  }
}

TEST(SlotFaults, WhatFailedIsAskedForAgainAndCountsOnce) {
  for (const auto& verbs : {Claims(), Moves(), Releases()}) {
    for (const Verb& verb : verbs) {
      FailEachCall(verb, DirectClient::Fault::kUnsent);
      FailEachCall(verb, DirectClient::Fault::kLostResponse);
    }
  }
}

// Fails if: two processes that make the same writes send the same request token, so that DynamoDB
// takes the second transaction for a repetition of the first.
TEST(SlotFaults, ASlotThatTwoProcessesReleaseIsReleasedOnce) {
  SlotTable table;
  SlotClient one(table, {}, {.seed = 1});
  SlotClient other(table, {}, {.seed = 2});
  table.PyReserve(kEmr, "1f", kNewYear + std::chrono::hours(1));
  std::size_t released_by_other = 0;
  bool is_first = true;
  table.sim.client.before_each = [&](const JsonCall& call) {
    if (call.operation != "TransactWriteItems" || !std::exchange(is_first, false)) return;
    released_by_other = other.ReleaseResource({"1f", kNewYear}, kNewYear).value();
  };
  const std::size_t released_by_one = one.ReleaseResource({"1f", kNewYear}, kNewYear).value();
  EXPECT_EQ(released_by_other, 1U);
  EXPECT_EQ(released_by_one, 0U);
}

TEST(SlotFaults, WhatDynamoDbRefusesForGoodIsTold) {
  World world;
  HoldOne(world);
  world.table.sim.client.refusal = "AccessDeniedException";
  EXPECT_EQ(world.Claim(2).error().code, Code::kPermissionDenied);
  EXPECT_EQ(world.client.Release(kFirst, world.now).error().code, Code::kPermissionDenied);
  EXPECT_FALSE(world.client.List(kEmr, world.now));
}

}  // namespace
}  // namespace weir::rate_limiter_py
