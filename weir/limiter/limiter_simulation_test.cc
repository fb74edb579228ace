// Simulated runs, each from a seed: many requests, leases and faults at random instants. The tests
// check properties that must hold in every run.
#include <gtest/gtest.h>

#include <list>
#include <map>
#include <set>
#include <stdexcept>
#include <string>

#include "weir/limiter/limiter.h"
#include "weir/limiter/testing/probe_backend.h"
#include "weir/sim/faulty_backend.h"
#include "weir/sim/sim_scheduler.h"
#include "weir/store/memory/memory_backend.h"

namespace weir {
namespace {

constexpr nanoseconds kRun = std::chrono::seconds(60);

/// Sums in millitokens, by (entity, limit).
using SumsByLimit = std::map<std::pair<std::string, std::string>, std::int64_t>;

void AddTo(SumsByLimit& sums, std::span<const Charge> charges) {
  for (const Charge& charge : charges) {
    for (std::size_t i = 0; i < charge.amounts.size(); ++i) {
      const std::int64_t amount = charge.amounts[i];
      sums[{charge.target->key.entity, charge.target->limits[i].name}] += amount;
    }
  }
}

std::vector<Charge> OnlyReturns(std::vector<Charge> deltas) {
  for (Charge& charge : deltas) {
    for (std::int64_t& amount : charge.amounts) amount = std::min<std::int64_t>(amount, 0);
  }
  return deltas;
}

/// Checks the bound on admissions: on every interval, at most the capacity, the refill and the
/// returned tokens are taken. Checks every interval between two of the takes (positive) and returns
/// (negative), which are added in order.
class AdmissionOracle {
 public:
  void Add(UnixMillis at, std::span<const Charge> charges) {
    for (const Charge& charge : charges) {
      for (std::size_t i = 0; i < charge.amounts.size(); ++i) {
        const Limit& limit = charge.target->limits[i];
        auto& [quota, events] = limits_[{charge.target->key.entity, limit.name}];
        quota = limit.quota;
        events.push_back({at, charge.amounts[i]});
      }
    }
  }

  void Check() const {
    for (const auto& [name, limit] : limits_) {
      const auto& [quota, events] = limit;
      for (std::size_t i = 0; i < events.size(); ++i) {
        std::int64_t taken = 0;
        for (std::size_t j = i; j < events.size(); ++j) {
          taken += events[j].second;
          const std::int64_t elapsed = (events[j].first - events[i].first).count();
          ASSERT_LE((taken - quota.capacity) * quota.period, elapsed * quota.amount)
              << name.first << " " << name.second;
        }
      }
    }
  }

 private:
  using Events = std::vector<std::pair<UnixMillis, std::int64_t>>;
  std::map<std::pair<std::string, std::string>, std::pair<Quota, Events>> limits_;
};

class Run {
 public:
  Run(std::uint64_t seed, const sim::Faults& faults)
      : lossy_(faults.fail_before + faults.fail_after > 0),
        rng_(seed),
        scheduler_(seed * 3 + 1),
        faulty_(probe_, scheduler_, seed * 5 + 2) {
    Declare();
    faulty_.faults = faults;
    limiter_ = std::make_unique<Limiter>(
        faulty_, scheduler_,
        LimiterOptions{
            .cache_ttl = milliseconds(rng_.Chance(0.3) ? 0 : 2000),
            .on_unavailable = rng_.Chance(0.5) ? OnUnavailable::kBlock : OnUnavailable::kAllow,
            .max_waiting = rng_.Chance(0.2) ? 5U : 1000U,
            .store_timeout = milliseconds(lossy_ && rng_.Chance(0.5) ? 20 : 2000),
            .seed = seed});
  }

  void Go() {
    const std::int64_t requests = rng_.Between(40, 120);
    for (std::int64_t i = 0; i < requests; ++i) Later(kRun, [this] { Ask(); });
    Later(kRun, [this] {
      if (limiter_ != nullptr) limiter_->Invalidate();
    });
    if (rng_.Chance(0.3)) {
      scheduler_.Advance(nanoseconds(rng_.Between(0, kRun.count())));
      while (hasty_ > 0) scheduler_.RunNext();
      Close();
    }
    ASSERT_TRUE(scheduler_.RunAll(200'000)) << "it never comes to rest";
    Close();
    ASSERT_TRUE(scheduler_.RunAll(200'000));
  }

  void Check() const {
    for (const Asked& asked : asked_) ASSERT_EQ(asked.results, 1) << "one terminal result each";
    CheckTokens();
    CheckAdmission();
    const auto calls = probe_.acquires.size();
    ASSERT_LE(calls, 12 * asked_.size() + 2 * probe_.adjusts.size()) << "somebody polls";
  }

  const sim::FaultCounts& counts() const { return faulty_.counts(); }
  std::size_t admitted() const { return admitted_; }
  std::size_t waited() const { return waited_; }
  std::size_t repeated() const { return repeated_; }
  std::size_t clear() const { return clear_; }

 private:
  struct Asked {
    int results = 0;
    Instant at;
    std::vector<std::pair<std::string, Amounts>> parts;  ///< entities and amounts
  };

  struct Held {
    Lease lease;
    std::vector<std::int64_t> expected;  ///< amounts of the entity's own bucket
    int unclear = 0;                     ///< adjusts whose final result is not known
  };

  void Declare() {
    const std::vector<Limit> limits{{"rpm", PerMinute(rng_.Between(3, 20))},
                                    {"tpm", PerMinute(rng_.Between(30, 200))}};
    std::vector<ConfigChange> changes{
        Put(Level::System(), limits),
        PutChild("a", "p"),
        PutChild("b", "p"),
        PutChild("p", "g"),
        Put(Level::EntityDefault("p"), {{"tpm", PerMinute(rng_.Between(40, 250))}}),
        Put(Level::EntityDefault("g"), {{"tpm", {300'000, 90'000, 7'001}}, limits[0]})};
    memory_->config().Apply(std::move(changes), Deadline::Never(),
                            [](Status applied) { ASSERT_TRUE(applied); });
  }

  void Later(nanoseconds within, Task task) {
    scheduler_.At(scheduler_.clock().Now() + nanoseconds(rng_.Between(0, within.count())),
                  std::move(task));
  }

  Deadline Within(milliseconds wait) { return Deadline::After(scheduler_.clock(), wait); }

  void DrawPart(Asked& asked) {
    static constexpr const char* kEntities[] = {"a", "b", "c"};
    auto& [entity, amounts] = asked.parts.emplace_back();
    entity = kEntities[rng_.Below(3)];
    amounts = {{"tpm", rng_.Between(0, 30)}};
    if (rng_.Chance(0.7)) amounts.push_back({"rpm", rng_.Between(0, 3)});
  }

  /// Requests several parts at once.
  void AskAll() {
    Asked& asked = asked_.emplace_back();
    asked.at = scheduler_.clock().Now();
    for (std::int64_t i = rng_.Between(1, 3); i > 0; --i) DrawPart(asked);
    std::vector<AcquirePart> parts;
    for (const auto& [entity, amounts] : asked.parts) {
      parts.push_back({.entity = entity, .resource = "gpt-4", .amounts = amounts});
    }
    ++hasty_;
    limiter_->AcquireAll({.parts = parts},
                         Within(milliseconds(lossy_ ? rng_.Between(5, 200) : 10'000)),
                         [this, &asked](Result<GroupOutcome> got) {
                           ++asked.results;
                           --hasty_;
                           if (!got) return OnResult(asked, Fail(std::move(got.error())));
                           OnResult(asked, std::move(got->outcome));
                         });
  }

  void Ask() {
    if (limiter_ == nullptr) return;
    if (rng_.Chance(0.2)) return AskAll();
    Asked& asked = asked_.emplace_back();
    asked.at = scheduler_.clock().Now();
    DrawPart(asked);
    const auto& [entity, amounts] = asked.parts.front();
    AcquireRequest request{.entity = entity, .resource = "gpt-4", .amounts = amounts};
    Deadline deadline = Within(milliseconds(lossy_ ? rng_.Between(5, 200) : 10'000));
    request.wait = rng_.Chance(0.55);
    if (request.wait) deadline = Within(milliseconds(rng_.Between(1, 30'000)));
    if (request.wait && (!lossy_ || rng_.Chance(0.5))) {  // time for the last try
      request.wait_until = std::exchange(deadline, Within(std::chrono::seconds(40)));
    }
    if (request.wait && rng_.Chance(0.2)) deadline = Deadline::Never();
    if (rng_.Chance(0.5)) request.on_unavailable = OnUnavailable::kBlock;
    const bool hasty = !request.wait;
    hasty_ += hasty;
    limiter_->Acquire(request, deadline, [this, &asked, hasty](Result<Outcome> outcome) {
      ++asked.results;
      hasty_ -= hasty;
      OnResult(asked, std::move(outcome));
    });
  }

  void OnResult(const Asked& asked, Result<Outcome> outcome) {
    // If the store was unavailable, it may have charged the request.
    if (!outcome || outcome->unprotected()) return Doubt(asked);
    if (!outcome->admitted()) return;
    ++admitted_;
    if (scheduler_.clock().Now() - asked.at > std::chrono::seconds(1)) ++waited_;
    Held& held = held_.emplace_back();
    held.lease = std::move(*outcome).lease();
    held.expected = held.lease.charges().front().amounts;
    Use(held);
  }

  void Doubt(const Asked& asked) {
    if (!lossy_) return;
    for (const auto& [own, amounts] : asked.parts) {
      for (const auto& [limit, tokens] : amounts) {
        for (const char* entity : {own.c_str(), "p", "g"}) {
          doubt_[{entity, limit}] += tokens.milli();
        }
      }
    }
  }

  void Use(Held& held) {
    Later(std::chrono::seconds(3), [this, &held] {
      if (!held.lease.active()) return;
      switch (rng_.Below(5)) {
        case 0:
          return End(held);
        case 1:
          return Unwind(held);
        default:
          Correct(held);
          Use(held);
      }
    });
  }

  void Correct(Held& held) {
    if (held.unclear > 0) return;  // so that the result of Settle is that of one adjust
    const Charge& own = held.lease.charges().front();
    const std::size_t index = rng_.Below(own.amounts.size());
    const std::int64_t left = own.amounts[index];
    const std::int64_t delta = rng_.Chance(0.6) ? -rng_.Between(0, left) : rng_.Between(0, 20'000);
    ++held.unclear;
    Send(held, index, delta);
  }

  void Send(Held& held, std::size_t index, std::int64_t delta) {
    const std::span<const Charge> charges = held.lease.charges();
    const std::string& limit = charges.front().target->limits[index].name;
    // Until it has a definite result, the adjust may count or not.
    SumsByLimit maybe;
    for (const Charge& charge : charges) {
      maybe[{charge.target->key.entity, limit}] = std::abs(delta);
    }
    for (const auto& [name, amount] : maybe) doubt_[name] += amount;
    const Amounts amounts{{limit, Tokens::Milli(delta)}};
    held.lease.Adjust(amounts, [this, &held, index, delta, maybe](const Status& result) {
      OnResult(held, index, delta, 3, maybe, result);
    });
  }

  void OnResult(Held& held, std::size_t index, std::int64_t delta, int tries,
                const SumsByLimit& maybe, const Status& result) {
    if (!held.lease.active()) return;  // the lease has ended without this result
    if (result || result.error().code == Code::kInvalidArgument) {
      for (const auto& [name, amount] : maybe) doubt_[name] -= amount;
      if (result) held.expected[index] += delta;
      --held.unclear;
    } else if (tries > 0) {
      ++repeated_;
      held.lease.Settle([this, &held, index, delta, tries, maybe](const Status& settled) {
        OnResult(held, index, delta, tries - 1, maybe, settled);
      });
    }
  }

  void End(Held& held) {
    const Lease ending = std::move(held.lease);  // must end before the limiter if a check fails
    if (held.unclear == 0) {
      ASSERT_EQ(ending.charges().front().amounts, held.expected) << "each adjust counts once";
      ++clear_;
    }
    AddTo(certain_, ending.charges());
  }

  void Unwind(Held& held) {
    // Tokens that are returned without waiting may stay taken.
    if (lossy_) AddTo(doubt_, held.lease.charges());
    try {
      const Lease dying = std::move(held.lease);
      throw std::runtime_error("the work failed");
    } catch (const std::runtime_error&) {
    }
  }

  void Close() {
    if (limiter_ == nullptr) return;
    for (Held& held : held_) {
      if (held.lease.active()) End(held);
    }
    limiter_.reset();
  }

  /// Checks that the consumption of each bucket is the amount that the leases hold, plus at most
  /// the amounts that are in doubt. Without faults nothing is in doubt.
  void CheckTokens() const {
    for (const char* entity : {"a", "b", "c", "p", "g"}) {
      const BucketKey key{entity, "gpt-4"};
      std::optional<BucketRecord> record;
      memory_->buckets().Read({&key, 1}, Deadline::Never(),
                              [&](auto records) { record = records->front(); });
      for (std::size_t i = 0; record && i < record->names.size(); ++i) {
        const std::pair name(std::string(entity), record->names[i]);
        const std::int64_t consumed = record->bucket.meters[i].consumed;
        const std::int64_t certain = Get(certain_, name);
        ASSERT_GE(consumed, certain) << entity << " " << name.second;
        ASSERT_LE(consumed, certain + Get(doubt_, name)) << entity << " " << name.second;
      }
    }
  }

  static std::int64_t Get(const SumsByLimit& sums, const SumsByLimit::key_type& name) {
    const auto found = sums.find(name);
    return found == sums.end() ? 0 : found->second;
  }

  void CheckAdmission() const {
    std::map<std::size_t, const ProbeBackend::Asked*> takes;
    std::map<std::size_t, const ProbeBackend::Adjusted*> adjusts;
    for (const auto& asked : probe_.acquires) {
      if (asked.admitted) takes[asked.order] = &asked;
    }
    std::set<AdjustId> ids;
    for (const auto& adjusted : probe_.adjusts) {
      if (ids.insert(adjusted.terms.id).second) adjusts[adjusted.order] = &adjusted;
    }
    AdmissionOracle oracle;
    auto take = takes.begin();
    for (const auto& [order, adjust] : adjusts) {
      for (; take != takes.end() && take->first < order; ++take) {
        oracle.Add(take->second->now, take->second->charges);
      }
      oracle.Add(adjust->now, OnlyReturns(adjust->charges));
    }
    for (; take != takes.end(); ++take) oracle.Add(take->second->now, take->second->charges);
    oracle.Check();
  }

  const bool lossy_;
  Rng rng_;
  sim::SimScheduler scheduler_;
  std::unique_ptr<Backend> memory_ =
      MakeMemoryBackend({.idle_grace = milliseconds(1'000'000'000)}, &scheduler_.clock());
  ProbeBackend probe_{*memory_};
  sim::FaultyBackend faulty_;
  std::unique_ptr<Limiter> limiter_;
  std::list<Asked> asked_;
  std::list<Held> held_;
  SumsByLimit certain_;
  SumsByLimit doubt_;
  int hasty_ = 0;  ///< calls in flight that do not wait; the limiter must not be destroyed then
  std::size_t admitted_ = 0;
  std::size_t waited_ = 0;
  std::size_t repeated_ = 0;
  std::size_t clear_ = 0;
};

struct RunTotals {
  std::uint64_t failed_before = 0;
  std::uint64_t failed_after = 0;
  std::uint64_t delayed = 0;
  std::uint64_t timed_out = 0;
  std::size_t admitted = 0;
  std::size_t waited = 0;
  std::size_t repeated = 0;
  std::size_t clear = 0;
};

RunTotals RunSeeds(std::uint64_t first, std::uint64_t count, const sim::Faults& faults) {
  RunTotals totals;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    Run run(seed, faults);
    run.Go();
    run.Check();
    if (::testing::Test::HasFatalFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return totals;
    }
    totals.failed_before += run.counts().failed_before;
    totals.failed_after += run.counts().failed_after;
    totals.delayed += run.counts().delayed;
    totals.timed_out += run.counts().timed_out;
    totals.admitted += run.admitted();
    totals.waited += run.waited();
    totals.repeated += run.repeated();
    totals.clear += run.clear();
  }
  return totals;
}

// Fails if: an adjust is repeated under a new id (Settle makes a new adjustment), or a lease counts
// tokens of a return in flight as held (AddUnsettled does not subtract them).
TEST(LimiterSimulation, KeepsItsPromisesWhateverFails) {
  const RunTotals totals = RunSeeds(1, 1000,
                                    {.fail_before = 0.06,
                                     .fail_after = 0.06,
                                     .delay = 0.4,
                                     .longest_delay = std::chrono::milliseconds(60)});
  EXPECT_GT(totals.failed_before, 500U);
  EXPECT_GT(totals.failed_after, 500U);
  EXPECT_GT(totals.delayed, 5000U);
  EXPECT_GT(totals.timed_out, 500U);
  EXPECT_GT(totals.admitted, 5000U);
  EXPECT_GT(totals.waited, 500U);
  EXPECT_GT(totals.repeated, 500U);
  EXPECT_GT(totals.clear, 1000U);
}

// Fails if: a lease's destructor does not return its tokens while an exception unwinds.
TEST(LimiterSimulation, WithoutFaultsNoTokenIsInDoubt) {
  const RunTotals still = RunSeeds(10'001, 300, {});
  EXPECT_EQ(still.failed_before + still.failed_after + still.delayed, 0U);
  EXPECT_GT(still.admitted, 1500U);
  EXPECT_GT(still.waited, 150U);
}

// Results that are late and out of order. Fails if: a try that ends after the limiter was closed
// keeps its tokens (Admit does not call GiveBack).
TEST(LimiterSimulation, SlowAnswersAlone) {
  const RunTotals slow =
      RunSeeds(20'001, 300, {.delay = 0.9, .longest_delay = std::chrono::milliseconds(300)});
  EXPECT_GT(slow.delayed, 5000U);
  EXPECT_EQ(slow.timed_out, 0U);
  EXPECT_EQ(slow.repeated, 0U);
}

}  // namespace
}  // namespace weir
