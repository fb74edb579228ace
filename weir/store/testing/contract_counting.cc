// Usage that a backend counts itself, compared with a slow counter.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "weir/store/testing/contract.h"

namespace weir {
namespace {

// Returns the time ten seconds before a month ends.
UnixMillis AtEndOfMonth(const BackendHarness& harness) {
  const UnixMillis month = StartOf(UsageWindow::kMonthly, harness.now());
  return EndOf(UsageWindow::kMonthly, month) - std::chrono::seconds(10);
}

constexpr std::int64_t kToken = 1000;

// Counts each change of a limit by itself, as exact numbers.
class SlowCounter {
 public:
  void Count(const Charge& charge, UnixMillis now) {
    const Target& target = *charge.target;
    for (std::size_t i = 0; i < charge.amounts.size(); ++i) {
      if (charge.amounts[i] == 0) continue;
      Use& use = hours_[target.key.entity][StartOf(UsageWindow::kHourly, now)];
      use.millitokens[target.limits[i].name] += charge.amounts[i];
      ++use.events;
    }
  }
  void CountOverdraft(const Charge& charge, std::size_t limit, UnixMillis now) {
    const Target& target = *charge.target;
    ++hours_[target.key.entity][StartOf(UsageWindow::kHourly, now)]
          .overdrawn[target.limits[limit].name];
  }

  // Returns the snapshots of an entity: a window has the whole tokens that all use until its end
  // adds up to, less those of the windows before it.
  std::vector<UsageSnapshot> Snapshots(const std::string& entity, const std::string& resource) {
    std::map<std::pair<UnixMillis, std::string_view>, UsageSnapshot> all;
    std::map<std::string, std::int64_t> sums;
    for (const auto& [hour, use] : hours_[entity]) {
      std::map<std::string, std::int64_t> whole;
      for (const auto& [limit, millitokens] : use.millitokens) {
        const std::int64_t before = Floor(sums[limit]);
        whole[limit] = Floor(sums[limit] += millitokens) - before;
      }
      for (const UsageWindow window :
           {UsageWindow::kHourly, UsageWindow::kDaily, UsageWindow::kMonthly}) {
        UsageSnapshot& sum = all[{StartOf(window, hour), Name(window)}];
        sum.entity = entity;
        sum.resource = resource;
        sum.window = window;
        sum.start = StartOf(window, hour);
        for (const auto& [limit, tokens] : whole) sum.used[limit] += tokens;
        for (const auto& [limit, times] : use.overdrawn) sum.overdrawn[limit] += times;
        sum.events += use.events;
      }
    }
    std::vector<UsageSnapshot> snapshots;
    for (auto& [key, snapshot] : all) {
      std::erase_if(snapshot.used, [](const auto& limit) { return limit.second == 0; });
      snapshots.push_back(std::move(snapshot));
    }
    return snapshots;
  }

 private:
  struct Use {
    std::map<std::string, std::int64_t> millitokens;
    std::map<std::string, std::int64_t> overdrawn;
    std::int64_t events = 0;
  };

  static std::int64_t Floor(std::int64_t millitokens) {
    return millitokens / kToken - (millitokens % kToken < 0 ? 1 : 0);
  }

  std::map<std::string, std::map<UnixMillis, Use>> hours_;  // keyed by entity
};

// Returns the listed snapshots in the order of SlowCounter::Snapshots.
std::vector<UsageSnapshot> Counted(ContractClient& store, const std::string& entity,
                                   std::size_t limit = 1000) {
  UsageFilter filter;
  filter.entity = entity;
  auto listed =
      AllPages(limit, [&](const PageRequest& request) { return store.ListUsage(filter, request); });
  std::ranges::sort(listed, {}, [](const UsageSnapshot& one) {
    return std::tuple(one.resource, one.start, Name(one.window));
  });
  return listed;
}

UsageSnapshot Window(UsageWindow window, UnixMillis at, const TargetPtr& target, UsageCounters used,
                     std::int64_t events) {
  return {.entity = target->key.entity,
          .resource = target->key.resource,
          .window = window,
          .start = StartOf(window, at),
          .used = std::move(used),
          .overdrawn = {},
          .events = events};
}

// Fails if: a take, an adjust or a cancelled part is not counted, or not in all three windows; if a
// refusal, a look or a limit that is not named is; if the window is that of another time than the
// change's.
TEST_P(StoreContractUsage, EachChangeOfALimitIsCounted) {
  const UnixMillis now = AtEndOfMonth(*harness_);
  const TargetPtr target = FreshTarget({Rpm(10), Tpm(1000)});
  EXPECT_TRUE(Ask({Tokens(target, {2, 300})}, now).admitted);
  EXPECT_TRUE(Ask({Tokens(target, {1, 0})}, now).admitted);
  EXPECT_FALSE(Ask({Tokens(target, {10, 1})}, now).admitted);
  EXPECT_TRUE(Ask({Tokens(target, {0, 0})}, now).admitted);
  ASSERT_TRUE(store_.Adjust({Tokens(target, {0, 50})}, now));
  const UnixMillis later = now + std::chrono::seconds(20);  // the next hour, day and month
  ASSERT_TRUE(store_.Adjust({Tokens(target, {-1, -120})}, later));
  using enum UsageWindow;
  const std::vector<UsageSnapshot> expected = {
      Window(kMonthly, now, target, {{"rpm", 3}, {"tpm", 350}}, 4),
      Window(kDaily, now, target, {{"rpm", 3}, {"tpm", 350}}, 4),
      Window(kHourly, now, target, {{"rpm", 3}, {"tpm", 350}}, 4),
      Window(kDaily, later, target, {{"rpm", -1}, {"tpm", -120}}, 2),
      Window(kHourly, later, target, {{"rpm", -1}, {"tpm", -120}}, 2),
      Window(kMonthly, later, target, {{"rpm", -1}, {"tpm", -120}}, 2)};
  for (const std::size_t limit : {1U, 2U, 5U, 6U, 1000U}) {
    EXPECT_EQ(Counted(store_, target->key.entity, limit), expected) << limit;
  }
}

// Fails if: only the first bucket of a cascade is counted.
TEST_P(StoreContractUsage, EachChargedBucketIsCounted) {
  const TargetPtr child = FreshTarget({Rpm(10)});
  const TargetPtr parent = FreshTarget({Rpm(100)});
  ASSERT_TRUE(Ask({Tokens(child, {2}), Tokens(parent, {2})}, harness_->now()).admitted);
  for (const TargetPtr& target : {child, parent}) {
    const auto counted = Counted(store_, target->key.entity);
    ASSERT_EQ(counted.size(), 3U);
    EXPECT_EQ(counted[0].used, (UsageCounters{{"rpm", 2}}));
  }
}

// Fails if: parts of a token are dropped, or rounded each time. A reading between the changes
// changes nothing.
TEST_P(StoreContractUsage, PartsOfATokenAddUp) {
  const TargetPtr target = FreshTarget({Rpm(10)});
  const std::string& entity = target->key.entity;
  const auto used = [&](UnixMillis at) {
    std::int64_t sum = 0;
    for (const UsageSnapshot& one : Counted(store_, entity)) {
      if (one.window != UsageWindow::kHourly || one.start > at) continue;
      const auto rpm = one.used.find("rpm");
      if (rpm != one.used.end()) sum += rpm->second;
    }
    return sum;
  };
  UnixMillis now = AtEndOfMonth(*harness_);
  for (int i = 1; i <= 8; ++i) {
    now = now + std::chrono::minutes(59);
    ASSERT_TRUE(Ask({Milli(target, {400})}, now).admitted);
    EXPECT_EQ(used(now), i * 400 / kToken) << i;
  }
  for (int i = 7; i >= 0; --i) {
    now = now + std::chrono::minutes(61);
    ASSERT_TRUE(store_.Adjust({Milli(target, {-400})}, now));
    EXPECT_EQ(used(now), i * 400 / kToken) << i;
  }
}

// Fails if: a debt is not counted, or a change that gives tokens back is counted as one.
TEST_P(StoreContractUsage, OverdraftsAreCounted) {
  const TargetPtr target = FreshTarget({Rpm(10), Tpm(1000)});
  ASSERT_TRUE(store_.Adjust({Tokens(target, {12, 1})}, harness_->now()));
  ASSERT_TRUE(store_.Adjust({Tokens(target, {1, 1})}, harness_->now()));
  ASSERT_TRUE(store_.Adjust({Tokens(target, {-1, 0})}, harness_->now()));
  const auto counted = Counted(store_, target->key.entity);
  ASSERT_EQ(counted.size(), 3U);
  for (const UsageSnapshot& one : counted) {
    EXPECT_EQ(one.overdrawn, (UsageCounters{{"rpm", 2}}));
    EXPECT_EQ(one.used, (UsageCounters{{"rpm", 12}, {"tpm", 2}}));
    EXPECT_EQ(one.events, 5);
  }
}

// Fails if: the use of limits that leave a bucket, or that only requests name, is lost or counted
// for another limit.
TEST_P(StoreContractUsage, LimitsThatLeaveStayCounted) {
  const TargetPtr first = FreshTarget({Rpm(10), Tpm(1000)});
  const TargetPtr second = MakeTarget(first->key, {Tpm(1000), {"cost", PerMinute(100)}});
  const TargetPtr other =
      MakeTarget(first->key, {{"burst", PerMinute(5)}, Tpm(1000)}, LimitSource::kOverride);
  ASSERT_TRUE(Ask({Tokens(first, {1, 20})}, harness_->now()).admitted);
  ASSERT_TRUE(Ask({Tokens(second, {300, 4})}, harness_->now()).admitted);
  ASSERT_TRUE(Ask({Tokens(other, {5, 6})}, harness_->now()).admitted);
  ASSERT_TRUE(store_.Adjust({Tokens(first, {-1, 2})}, harness_->now()));
  for (const UsageSnapshot& one : Counted(store_, first->key.entity)) {
    EXPECT_EQ(one.used, (UsageCounters{{"tpm", 328}, {"cost", 4}, {"burst", 5}}));
    EXPECT_EQ(one.events, 8);
  }
}

// Fails if: the use of a deleted entity's buckets is lost.
TEST_P(StoreContractUsage, DeletedEntitiesStayCounted) {
  const TargetPtr target = FreshTarget({Rpm(10)});
  ASSERT_TRUE(Ask({Tokens(target, {2})}, harness_->now()).admitted);
  ASSERT_TRUE(store_.Apply({DeleteEntity{target->key.entity}}));
  ASSERT_TRUE(Ask({Tokens(target, {3})}, harness_->now()).admitted);
  const auto counted = Counted(store_, target->key.entity);
  ASSERT_EQ(counted.size(), 3U);
  EXPECT_EQ(counted[0].used, (UsageCounters{{"rpm", 5}}));
}

// Fails if: usage that is still counted next to its bucket is missing in the listing of a resource.
TEST_P(StoreContractUsage, UsageOfAResourceIsCountedOverItsEntities) {
  const std::string resource = Fresh("resource");
  std::vector<UsageSnapshot> expected;
  for (const char* stem : {"acme", "globex", "initech"}) {
    const TargetPtr target = MakeTarget({Fresh(stem), resource, 0}, {Rpm(10)});
    ASSERT_TRUE(Ask({Tokens(target, {2})}, harness_->now()).admitted);
    expected.push_back(Window(UsageWindow::kDaily, harness_->now(), target, {{"rpm", 2}}, 1));
  }
  UsageFilter filter;
  filter.resource = resource;
  filter.window = UsageWindow::kDaily;
  for (const std::size_t limit : {1U, 2U, 3U, 1000U}) {
    auto listed = AllPages(
        limit, [&](const PageRequest& request) { return store_.ListUsage(filter, request); });
    std::ranges::sort(listed, {}, &UsageSnapshot::entity);
    std::ranges::sort(expected, {}, &UsageSnapshot::entity);
    EXPECT_EQ(listed, expected) << limit;
  }
}

struct CountedStep {
  enum Kind { kTake, kLook, kAdjust, kRead };
  Kind kind;
  milliseconds wait;           // since the step before
  int target;                  // index of the target
  std::vector<int> per_mille;  // amounts in thousandths of the capacity, by limit
};

std::ostream& operator<<(std::ostream& out, const CountedStep& step) {
  const char* const kinds[] = {"take", "look", "adjust", "read"};
  out << "\n  +" << step.wait.count() << " ms: " << kinds[step.kind] << " of target " << step.target
      << ", per mille";
  for (const int amount : step.per_mille) out << ' ' << amount;
  return out;
}

rc::Gen<CountedStep> AnyCountedStep() {
  const auto kind = rc::gen::weightedElement<CountedStep::Kind>({{8, CountedStep::kTake},
                                                                 {1, CountedStep::kLook},
                                                                 {6, CountedStep::kAdjust},
                                                                 {1, CountedStep::kRead}});
  const auto wait = rc::gen::map(rc::gen::weightedElement<std::int64_t>({{8, 0},
                                                                         {4, 1},
                                                                         {4, 700},
                                                                         {4, 61'000},
                                                                         {2, 1'200'000},
                                                                         {2, 3'599'999},
                                                                         {1, 200'000'000}}),
                                 [](std::int64_t millis) { return milliseconds(millis); });
  return rc::gen::construct<CountedStep>(
      kind, wait, rc::gen::resize(100, rc::gen::inRange(0, 4)),
      rc::gen::container<std::vector<int>>(2, rc::gen::resize(100, rc::gen::inRange(-500, 1001))));
}

// Fails if: any sequence of takes, refusals, adjusts and readings, over hours that end and buckets
// that leave, is counted otherwise than by the slow counter.
TEST_P(StoreContractUsage, CountsAsTheSlowCounterDoes) {
  CheckProperty([&] {
    const auto steps =
        *rc::gen::resize(100, rc::gen::container<std::vector<CountedStep>>(AnyCountedStep()));
    const std::vector<TargetPtr> buckets = {
        FreshTarget({{"rpm", PerMinute(7)}, {"tpm", PerMinute(2)}}),
        FreshTarget({{"rpm", PerHour(3)}, {"tpm", PerMinute(9)}})};
    // The same buckets with other sets of limits.
    std::vector<TargetPtr> targets = buckets;
    targets.push_back(MakeTarget(buckets[0]->key, {{"cost", PerMinute(5)}, {"rpm", PerMinute(7)}}));
    targets.push_back(MakeTarget(buckets[1]->key, {{"tpm", PerMinute(9)}, {"rpm", PerHour(3)}}));
    SlowCounter slow;
    UnixMillis now = harness_->now();
    for (const CountedStep& step : steps) {
      now = now + step.wait;
      const TargetPtr& target = targets[static_cast<std::size_t>(step.target)];
      Charge charge = Milli(target, {0, 0});
      for (std::size_t i = 0; i < 2; ++i) {
        charge.amounts[i] = step.per_mille[i] * target->limits[i].quota.capacity / 1000;
        if (step.kind == CountedStep::kTake)
          charge.amounts[i] = std::max<std::int64_t>(0, charge.amounts[i]);
      }
      switch (step.kind) {
        case CountedStep::kTake:
          if (Ask({charge}, now).admitted) slow.Count(charge, now);
          break;
        case CountedStep::kLook:
          Balance(target, now);
          break;
        case CountedStep::kAdjust: {
          RC_ASSERT(store_.Adjust({charge}, now).has_value());
          slow.Count(charge, now);
          const Balances after = Balance(target, now);
          for (std::size_t i = 0; i < 2; ++i) {
            if (charge.amounts[i] > 0 && after[i] < 0) slow.CountOverdraft(charge, i, now);
          }
          break;
        }
        case CountedStep::kRead:
          Counted(store_, target->key.entity);
          break;
      }
    }
    for (const TargetPtr& bucket : buckets) {
      const auto& [entity, resource, shard] = bucket->key;
      RC_ASSERT(Counted(store_, entity, 7) == slow.Snapshots(entity, resource));
    }
  });
}

}  // namespace
}  // namespace weir
