// Two limiters on one backend while limits join, leave and are overridden. Regardless of their
// caches, no limit name is admitted more often than its limits allow.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/rng.h"
#include "weir/limiter/limiter.h"
#include "weir/limiter/testing/probe_backend.h"
#include "weir/sim/sim_scheduler.h"
#include "weir/store/memory/memory_backend.h"

namespace weir {
namespace {

struct LeavingTake {
  std::int64_t at = 0;      ///< ms
  std::int64_t amount = 0;  ///< millitokens; negative: returned
};

/// The highest parameters that a limit name ever had.
struct HighestQuota {
  std::int64_t capacity = 0;
  double per_ms = 0;

  void Include(const Quota& quota) {
    capacity = std::max(capacity, quota.capacity);
    per_ms =
        std::max(per_ms, static_cast<double>(quota.amount) / static_cast<double>(quota.period));
  }
};

using EntityLimit = std::pair<std::string, std::string>;  ///< entity and limit

const std::vector<std::string> kLeavingNames{"rpm", "tpm", "calls"};

class LeavingRun {
 public:
  explicit LeavingRun(std::uint64_t seed) : rng_(seed) {
    PutEntityAndLimits();
    for (std::uint64_t i = 0; i < 2; ++i) {
      limiters_.push_back(
          std::make_unique<Limiter>(*memory_, scheduler_, LimiterOptions{.seed = seed * 2 + i}));
    }
  }

  void Go() {
    for (int i = 0; i < 300; ++i) {
      Step();
      if (rng_.Chance(0.3)) scheduler_.Advance(milliseconds(rng_.Between(0, 3'000)));
    }
    leases_.clear();
    Check();
  }

  std::size_t admitted = 0, overrides = 0, changes = 0, adjusts = 0;

 private:
  Quota AnyQuota() { return PerMinute(rng_.Between(5, 20)).Burst(rng_.Between(5, 40)); }

  std::vector<Limit> AnyLimits(const std::string& entity) {
    std::vector<Limit> limits;
    for (const std::string& name : kLeavingNames) {
      if (!limits.empty() && rng_.Chance(0.5)) continue;
      limits.push_back({name, AnyQuota()});
      most_[{entity, name}].Include(limits.back().quota);
    }
    return limits;
  }

  void PutEntityAndLimits() {
    Apply(memory_->config(), {PutChild("a", "p"), Put(Level::EntityDefault("a"), AnyLimits("a")),
                              Put(Level::EntityDefault("p"), AnyLimits("p"))});
  }

  static void Apply(ConfigStore& config, std::vector<ConfigChange> changes) {
    config.Apply(std::move(changes), Deadline::Never(),
                 [](const Status& applied) { ASSERT_TRUE(applied) << applied.error().message; });
  }

  Limiter& AnyLimiter() { return *limiters_[rng_.Below(limiters_.size())]; }

  void Step() {
    const std::uint64_t kind = rng_.Below(20);
    if (kind == 0) return Change();
    if (kind < 4) return AdjustOne();
    Take(kind < 7);
  }

  /// Changes limits through one limiter. The other continues with its cached limits.
  void Change() {
    const std::string entity = rng_.Chance(0.5) ? "a" : "p";
    ++changes;
    ASSERT_TRUE(AnyLimiter().Apply({Put(Level::EntityDefault(entity), AnyLimits(entity))},
                                   Deadline::Never()));
  }

  void Take(bool overridden) {
    AcquireRequest request{.entity = rng_.Chance(0.8) ? "a" : "p", .resource = "r"};
    std::vector<std::string> names = kLeavingNames;
    if (overridden) {
      ++overrides;
      request.limits = AnyLimits(std::string(request.entity));
      names.clear();
      for (const Limit& limit : *request.limits) names.push_back(limit.name);
    }
    for (const std::string& name : names) {
      if (rng_.Chance(0.5)) request.amounts.push_back({name, rng_.Between(0, 5)});
    }
    if (request.amounts.empty()) request.amounts = {{names.front(), 1}};
    auto outcome = AnyLimiter().Acquire(request, Deadline::Never());
    if (!outcome || !outcome->admitted()) return;  // errors: unknown names, too large amounts
    ++admitted;
    Lease lease = std::move(*outcome).lease();
    Note(lease.charges(), 1);
    if (rng_.Chance(0.3)) leases_.push_back(std::move(lease));
  }

  void Note(std::span<const Charge> charges, std::int64_t sign) {
    for (const Charge& charge : charges) {
      for (std::size_t i = 0; i < charge.amounts.size(); ++i) {
        if (charge.amounts[i] == 0) continue;
        taken_[{charge.target->key.entity, charge.target->limits[i].name}].push_back(
            {scheduler_.clock().WallNow().value, sign * charge.amounts[i]});
      }
    }
  }

  /// Adjusts or cancels a lease on a limit that may have left meanwhile.
  void AdjustOne() {
    if (leases_.empty()) return;
    ++adjusts;
    const std::size_t which = rng_.Below(leases_.size());
    Lease lease = std::move(leases_[which]);
    leases_.erase(leases_.begin() + static_cast<std::ptrdiff_t>(which));
    if (rng_.Chance(0.5)) {
      Note(lease.charges(), -1);
      ASSERT_TRUE(lease.Cancel());
      return;
    }
    const std::string& name = lease.charges().front().target->limits.front().name;
    ASSERT_TRUE(lease.Adjust({{name, rng_.Between(0, 10)}}));  // adds debt; not an admission
  }

  void Check() const {
    for (const auto& [name, events] : taken_) {
      const HighestQuota& most = most_.at(name);
      for (std::size_t i = 0; i < events.size(); ++i) {
        std::int64_t sum = 0;
        for (std::size_t j = i; j < events.size(); ++j) {
          sum += events[j].amount;
          const auto passed = static_cast<double>(events[j].at - events[i].at);
          ASSERT_LE(static_cast<double>(sum),
                    static_cast<double>(most.capacity) + most.per_ms * passed + 1)
              << name.first << " " << name.second << " from " << events[i].at << " to "
              << events[j].at;
        }
      }
    }
  }

  Rng rng_;
  sim::SimScheduler scheduler_;
  std::unique_ptr<Backend> memory_ = MakeMemoryBackend({}, &scheduler_.clock());
  std::vector<std::unique_ptr<Limiter>> limiters_;
  std::vector<Lease> leases_;
  std::map<EntityLimit, HighestQuota> most_;
  std::map<EntityLimit, std::vector<LeavingTake>> taken_;
};

// C2. Fails if: a limit that leaves a bucket and joins it again is full.
TEST(LimitsThatLeave, C2MintNothingThroughTwoLimitersWithStaleCaches) {
  std::size_t admitted = 0, overrides = 0, changes = 0, adjusts = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    LeavingRun run(seed);
    run.Go();
    if (testing::Test::HasFatalFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
    admitted += run.admitted;
    overrides += run.overrides;
    changes += run.changes;
    adjusts += run.adjusts;
  }
  EXPECT_GT(admitted, 5'000U);
  EXPECT_GT(overrides, 5'000U);
  EXPECT_GT(changes, 2'000U);
  EXPECT_GT(adjusts, 2'000U);
}

// C2: two limiters alternately took 100,000 tokens of 1,000 within the time to live of one's cache.
TEST(LimitsThatLeave, C2ALimitThatOneLimiterHasNotSeenYetIsNotRefilledByIt) {
  sim::SimScheduler scheduler;
  const auto memory = MakeMemoryBackend({}, &scheduler.clock());
  Limiter stale(*memory, scheduler, {.seed = 1});
  Limiter fresh(*memory, scheduler, {.seed = 2});
  ASSERT_TRUE(fresh.Apply({PutChild("a", "p"),
                           Put(Level::EntityDefault("a"),
                               {{"rpm", PerMinute(1'000'000)}, {"tpm", PerMinute(1'000'000)}}),
                           Put(Level::EntityDefault("p"), RpmLimits(1'000'000))},
                          Deadline::Never()));
  const auto take = [](Limiter& limiter, Amounts amounts) {
    const auto outcome = limiter.Acquire(
        {.entity = "a", .resource = "r", .amounts = std::move(amounts)}, Deadline::Never());
    return outcome && outcome->admitted();
  };
  EXPECT_TRUE(take(stale, {{"rpm", 1}}));
  ASSERT_TRUE(fresh.Apply(
      {Put(Level::EntityDefault("p"), {{"rpm", PerMinute(1'000'000)}, {"tpm", PerMinute(1'000)}})},
      Deadline::Never()));
  int tokens = 0;
  for (int i = 0; i < 100; ++i) {
    tokens += take(fresh, {{"tpm", 1'000}}) ? 1'000 : 0;
    (void)take(stale, {{"rpm", 1}});
  }
  EXPECT_LE(tokens, 1'000);
}

}  // namespace
}  // namespace weir
