// Simulated fleets, each from a seed: processes that share buckets, join, leave and die, on a store
// whose results are late or lost. The tests check properties that must hold in every run.
#include <gtest/gtest.h>

#include <list>
#include <map>
#include <string>

#include "weir/limiter/limiter.h"
#include "weir/limiter/testing/probe_backend.h"
#include "weir/sim/faulty_backend.h"
#include "weir/sim/sim_scheduler.h"
#include "weir/store/memory/memory_backend.h"

namespace weir {
namespace {

using SumsByEntity = std::map<std::string, std::int64_t>;  ///< millitokens by entity

struct Event {
  std::int64_t at = 0;  ///< ms
  std::int64_t amount = 0;
  friend auto operator<=>(const Event&, const Event&) = default;
};
using Events = std::map<std::string, std::vector<Event>>;  ///< by entity

/// The bound on admissions: on every interval [s, t], at most the capacity, the refill from s to t,
/// and the tokens that leases returned after s - lifetime are taken.
void CheckBound(const Limit& limit, std::vector<Event> takes, std::vector<Event> returns) {
  std::ranges::sort(takes);
  std::ranges::sort(returns);
  const std::int64_t lifetime = limit.allowance.count();
  std::size_t first_return = 0;
  for (std::size_t i = 0; i < takes.size(); ++i) {
    while (first_return < returns.size() && returns[first_return].at <= takes[i].at - lifetime) {
      ++first_return;
    }
    std::size_t back = first_return;
    std::int64_t sum = 0;
    for (std::size_t j = i; j < takes.size(); ++j) {
      sum += takes[j].amount;
      for (; back < returns.size() && returns[back].at <= takes[j].at; ++back) {
        sum -= returns[back].amount;
      }
      ASSERT_LE((sum - limit.quota.capacity) * limit.quota.period,
                (takes[j].at - takes[i].at) * limit.quota.amount)
          << "from " << takes[i].at << " to " << takes[j].at;
    }
  }
}

/// The calls of all processes to the store, and the tokens that requests got.
struct Ledger {
  Events takes;    ///< the decisions on requests: by the store, or when an allowance was spent
  Events returns;  ///< by leases
  SumsByEntity debited;     ///< for allowances
  SumsByEntity taken;       ///< for requests, by the store
  SumsByEntity given_back;  ///< by allowances and leases
};

void AddTo(SumsByEntity& sums, std::span<const Charge> charges) {
  for (const Charge& charge : charges) sums[charge.target->key.entity] += charge.amounts[0];
}
void AddTo(Events& events, std::span<const Charge> charges, const Clock& clock, int sign = 1) {
  for (const Charge& charge : charges) {
    events[charge.target->key.entity].push_back({clock.WallNow().value, sign * charge.amounts[0]});
  }
}

/// Passes calls to another store.
class Tap : public Backend, private BucketStore {
 public:
  explicit Tap(Backend& inner) : inner_(inner) {}
  BucketStore& buckets() override { return *this; }
  ConfigStore& config() override { return inner_.config(); }
  Status Close() override { return {}; }
  std::string Describe() const override { return "tap"; }

 protected:
  using Charges = std::span<const Charge>;
  BucketStore& store() { return inner_.buckets(); }
  UnixMillis Now() const override { return inner_.buckets().Now(); }

 private:
  void Read(std::span<const BucketKey> keys, Deadline deadline,
            Done<std::vector<std::optional<BucketRecord>>> done) override {
    store().Read(keys, deadline, std::move(done));
  }
  void List(const BucketFilter& filter, const PageRequest& page, Deadline deadline,
            Done<Page<BucketRecord>> done) override {
    store().List(filter, page, deadline, std::move(done));
  }
  Backend& inner_;
};

/// The purpose of the call that passes from a limiter to the store now.
struct Passing {
  bool ahead = false;   ///< the acquire is the debit of an allowance
  bool unused = false;  ///< the adjust returns tokens of an allowance
  bool direct = false;  ///< a result of the store is being passed to a request
  Events left{};        ///< the balances after each acquire of this process
};

/// Between the limiter and the faults: derives the purpose of a call from the limiter's statistics.
class Outer final : public Tap {
 public:
  Outer(Backend& inner, Passing& passing, const Limiter* const& limiter)
      : Tap(inner), passing_(passing), limiter_(limiter) {}

 private:
  void Acquire(Charges charges, UnixMillis now, Deadline deadline, Done<Decision> done) override {
    passing_.ahead = Grew(debits_, limiter_->stats().allowances.debits);
    if (!passing_.ahead) {
      done = [this, done = std::move(done)](Result<Decision> result) mutable {
        passing_.direct = true;
        done(std::move(result));
        passing_.direct = false;
      };
    }
    store().Acquire(charges, now, deadline, std::move(done));
  }
  void Adjust(Charges charges, const AdjustTerms& terms, UnixMillis now, Deadline deadline,
              Done<void> done) override {
    passing_.unused = Grew(returns_, limiter_->stats().allowances.returns);
    store().Adjust(charges, terms, now, deadline, std::move(done));
  }
  static bool Grew(std::uint64_t& seen, std::uint64_t count) {
    return std::exchange(seen, count) != count;
  }

  Passing& passing_;
  const Limiter* const& limiter_;
  std::uint64_t debits_ = 0;
  std::uint64_t returns_ = 0;
};

/// Between the faults and the shared store: records the calls that reach the store.
class Inner final : public Tap {
 public:
  Inner(Backend& shared, Passing& passing, Ledger& ledger, const Clock& clock)
      : Tap(shared), passing_(passing), ledger_(ledger), clock_(clock) {}

 private:
  void Acquire(Charges charges, UnixMillis now, Deadline deadline, Done<Decision> done) override {
    store().Acquire(charges, now, deadline, [&, this](Result<Decision> result) {
      if (result && result->admitted) {
        AddTo(passing_.ahead ? ledger_.debited : ledger_.taken, charges);
        if (!passing_.ahead) AddTo(ledger_.takes, charges, clock_);
      }
      for (const Charge& charge : charges) Look(charge.target->key);
      done(std::move(result));
    });
  }
  void Adjust(Charges charges, const AdjustTerms& terms, UnixMillis now, Deadline deadline,
              Done<void> done) override {
    store().Adjust(charges, terms, now, deadline, [&, this](Status result) {
      if (result) AddTo(ledger_.given_back, charges);
      if (result && !passing_.unused) AddTo(ledger_.returns, charges, clock_, -1);
      done(std::move(result));
    });
  }

  void Look(const BucketKey& key) {
    store().Read({&key, 1}, Deadline::Never(), [&](auto records) {
      if (!records->front()) return;
      passing_.left[key.entity].push_back(
          {clock_.WallNow().value, records->front()->bucket.meters[0].tokens});
    });
  }

  Passing& passing_;
  Ledger& ledger_;
  const Clock& clock_;
};

/// A request that was refused without the store although no other request waited.
struct LocalRefusal {
  std::int64_t at = 0;  ///< ms
  std::int64_t need = 0;
  std::vector<std::string> entities;
};

/// One process with its own faulty connection to the shared store. Lives until the end of the run.
class Process {
 public:
  Process(Backend& shared, sim::SimScheduler& scheduler, Ledger& ledger, std::uint64_t seed,
          const sim::Faults& faults)
      : scheduler_(scheduler),
        ledger_(ledger),
        inner_(shared, passing_, ledger, scheduler.clock()),
        faulty_(inner_, scheduler, seed),
        outer_(faulty_, passing_, watched_) {
    faulty_.faults = faults;
    limiter_ = std::make_unique<Limiter>(
        outer_, scheduler, LimiterOptions{.store_timeout = milliseconds(500), .seed = seed});
    watched_ = limiter_.get();
  }

  void Ask(const std::string& entity, std::int64_t tokens, bool patient, bool gives_back) {
    const auto& clock = scheduler_.clock();
    AcquireRequest request{.entity = entity, .resource = "r", .amounts = {{"rps", tokens}}};
    request.wait = patient;
    ++under_way_;
    limiter_->Acquire(request, Deadline::After(clock, milliseconds(patient ? 300 : 200)),
                      [this, gives_back](Result<Outcome> outcome) {
                        --under_way_;
                        OnResult(std::move(outcome), gives_back);
                      });
  }

  /// Simulates kill -9: results are no longer used, and no call reaches the store.
  void Die() {
    dead_ = true;
    faulty_.faults.down = true;
  }
  void Leave() { leaving_ = true; }
  /// Returns true if the process has left.
  bool TryLeave() {
    if (under_way_ > 0 || !limiter_) return !limiter_;
    last_ = limiter_->stats();
    limiter_.reset();
    return true;
  }

  bool works() const { return !dead_ && !leaving_; }
  bool dead() const { return dead_; }
  bool leaving() const { return leaving_; }
  int under_way() const { return under_way_; }
  LimiterStats stats() const { return limiter_ ? limiter_->stats() : last_; }
  const sim::FaultCounts& counts() const { return faulty_.counts(); }
  std::uint64_t spent() const { return spent_; }
  const std::vector<LocalRefusal>& refusals() const { return refusals_; }
  const Events& left() const { return passing_.left; }

 private:
  void NoteRefusal(const Decision& refusal) {
    LocalRefusal& noted = refusals_.emplace_back(scheduler_.clock().WallNow().value);
    for (const LimitStatus& status : refusal.limits) {
      noted.need = status.requested;
      noted.entities.push_back(status.entity);
    }
  }
  void OnResult(Result<Outcome> outcome, bool gives_back) {
    if (!dead_ && outcome && !outcome->admitted() && !passing_.direct) {
      NoteRefusal(outcome->decision());
    }
    if (dead_ || !outcome || !outcome->admitted() || outcome->unprotected()) return;
    Lease lease = std::move(*outcome).lease();
    if (!passing_.direct) {
      AddTo(ledger_.takes, lease.charges(), scheduler_.clock());
      for (const Charge& charge : lease.charges()) {
        spent_ += static_cast<std::uint64_t>(charge.amounts[0]);
      }
    }
    if (!gives_back) return;
    const std::int64_t half = lease.charges()[0].amounts[0] / 2;
    lease.Adjust({{"rps", Tokens::Milli(-half)}}, [](const Status&) {});
  }

  sim::SimScheduler& scheduler_;
  Ledger& ledger_;
  Passing passing_;
  Inner inner_;
  sim::FaultyBackend faulty_;
  Outer outer_;
  const Limiter* watched_ = nullptr;
  std::unique_ptr<Limiter> limiter_;
  LimiterStats last_;
  int under_way_ = 0;
  bool dead_ = false;
  bool leaving_ = false;
  std::uint64_t spent_ = 0;
  std::vector<LocalRefusal> refusals_;
};

struct Shape {
  sim::Faults faults;
  bool deaths = true;
  bool leases = false;   ///< some leases return tokens
  bool patience = true;  ///< some requests wait for tokens
};

struct FleetTotals {
  std::uint64_t failed_before = 0, failed_after = 0, delayed = 0, timed_out = 0;
  std::uint64_t deaths = 0, lost_to_death = 0, left_holding = 0, decisions = 0, spent = 0,
                direct = 0;
  std::uint64_t debits = 0, refused = 0, returned = 0, forfeited = 0, local_refusals = 0;
};

/// A fleet of at most eight processes on two buckets, one of which is the parent's.
class Fleet {
 public:
  Fleet(std::uint64_t seed, const Shape& shape)
      : shape_(shape), rng_(seed), scheduler_(seed * 3 + 1) {
    lifetime_ = milliseconds(rng_.Between(50, 1000));
    limits_["a"] = AnyLimit();
    limits_["p"] = AnyLimit();
    memory_->config().Apply({PutChild("a", "p"), Put(Level::EntityDefault("a"), {limits_["a"]}),
                             Put(Level::EntityDefault("p"), {limits_["p"]})},
                            Deadline::Never(), [](Status applied) { ASSERT_TRUE(applied); });
  }

  void Go() {
    const nanoseconds run = 12 * nanoseconds(lifetime_);
    for (int i = 0; i < 8; ++i) Later(run / 4, [this] { Join(); });
    for (int i = 0; i < 6; ++i) Later(run, [this] { Join(); });
    for (int i = 0; i < 4; ++i) Later(run, [this] { Leave(); });
    if (shape_.deaths) {
      for (int i = 0; i < 4; ++i) Later(run, [this] { Die(); });
    }
    for (int i = 0; i < 120; ++i) Later(run, [this] { AskAny(1); });
    for (int i = 0; i < 12; ++i) Later(run, [this] { Rush(); });
    scheduler_.Advance(run);
    End();
  }

  void Check() {
    for (const auto& [entity, limit] : limits_) {
      CheckBound(limit, ledger_.takes[entity], ledger_.returns[entity]);
      ASSERT_FALSE(::testing::Test::HasFatalFailure()) << entity;
    }
    CheckStore();
    for (const Process& process : processes_) CheckProcess(process);
    if (shape_.patience) return;  // requests behind waiting ones are refused despite free tokens
    for (const Process& process : processes_) CheckRefusals(process);
  }

  void AddTo(FleetTotals& totals) const {
    for (const Process& process : processes_) {
      const AllowanceStats stats = process.stats().allowances;
      totals.failed_before += process.counts().failed_before;
      totals.failed_after += process.counts().failed_after;
      totals.delayed += process.counts().delayed;
      totals.timed_out += process.counts().timed_out;
      totals.deaths += process.dead();
      totals.left_holding += process.leaving() && stats.out > 0;
      totals.decisions += stats.decisions;
      totals.spent += stats.spent;
      totals.debits += stats.debits;
      totals.refused += stats.refused;
      totals.returned += stats.returned;
      totals.forfeited += stats.forfeited;
    }
    totals.lost_to_death += lost_to_death_;
    totals.local_refusals += local_refusals_;
    for (const auto& [entity, taken] : ledger_.taken) {
      totals.direct += static_cast<std::uint64_t>(taken);
    }
  }

 private:
  Limit AnyLimit() {
    const std::int64_t capacity = rng_.Between(20, 200) * kMillitokens;
    const std::int64_t aside = capacity * rng_.Between(5, 50) / 100;
    return {"rps", {capacity, aside, lifetime_.count()}, lifetime_};
  }

  void Later(nanoseconds within, Task task) {
    scheduler_.At(scheduler_.clock().Now() + nanoseconds(rng_.Between(0, within.count())),
                  std::move(task));
  }

  Process* AnyProcess() {
    std::vector<Process*> working;
    for (Process& process : processes_) {
      if (process.works()) working.push_back(&process);
    }
    return working.empty() ? nullptr : working[rng_.Below(working.size())];
  }

  void Join() {
    const auto working = std::ranges::count_if(processes_, &Process::works);
    if (working < 8) {
      processes_.emplace_back(*memory_, scheduler_, ledger_, rng_.Next() % 1'000'000,
                              shape_.faults);
    }
  }
  void Leave() {
    if (Process* process = AnyProcess()) process->Leave(), AwaitEnd(*process);
  }
  void AwaitEnd(Process& process) {
    if (process.TryLeave()) return;
    Later(milliseconds(50), [this, &process] { AwaitEnd(process); });
  }
  void Die() {
    Process* process = AnyProcess();
    if (process == nullptr) return;
    lost_to_death_ += process->stats().allowances.out;
    process->Die();
  }

  void AskAny(int times) {
    Process* process = AnyProcess();
    if (process == nullptr) return;
    const std::int64_t most = std::min(limits_["a"].quota.capacity, limits_["p"].quota.capacity);
    for (int i = 0; i < times; ++i) {
      const std::int64_t tokens = rng_.Chance(0.8) ? 1 : rng_.Between(1, most / 8000 + 1);
      process->Ask(rng_.Chance(0.8) ? "a" : "p", tokens, shape_.patience && rng_.Chance(0.1),
                   shape_.leases && rng_.Chance(0.3));
    }
  }
  /// Many requests at once, twice within a lifetime: the first cause large debits, the second spend
  /// them.
  void Rush() {
    const int each = static_cast<int>(rng_.Between(5, 60));
    for (int i = 0; i < 8; ++i) AskAny(each);
    scheduler_.At(scheduler_.clock().Now() + nanoseconds(lifetime_) * 5 / 8, [this, each] {
      for (int i = 0; i < 8; ++i) AskAny(each);
    });
  }

  void End() { ASSERT_TRUE(scheduler_.RunAll(500'000)) << "it never comes to rest"; }

  /// Checks that the consumption of each bucket equals the debited and taken tokens less the
  /// returned ones.
  void CheckStore() {
    for (const auto& [entity, limit] : limits_) {
      const BucketKey key{entity, "r"};
      memory_->buckets().Read({&key, 1}, Deadline::Never(), [&](auto records) {
        if (!records->front()) return;
        const std::int64_t consumed = records->front()->bucket.meters[0].consumed;
        ASSERT_EQ(consumed,
                  ledger_.debited[entity] + ledger_.taken[entity] + ledger_.given_back[entity]);
      });
    }
  }

  /// Checks that a process refused without the store only if, in the second before, it saw one of
  /// the buckets with no more than the requested amount plus the refill of two spacings.
  void CheckRefusals(const Process& process) {
    for (const LocalRefusal& refusal : process.refusals()) {
      const bool any = std::ranges::any_of(refusal.entities, [&](const std::string& entity) {
        const Limit& limit = limits_[entity];
        const std::int64_t comes = std::min<std::int64_t>(limit.allowance.count() + 1, 2000) *
                                   limit.quota.amount / limit.quota.period;
        const auto seen = process.left().find(entity);
        return seen != process.left().end() &&
               std::ranges::any_of(seen->second, [&](const Event& left) {
                 return left.at <= refusal.at && left.at >= refusal.at - 1'000 &&
                        left.amount <= refusal.need + comes;
               });
      });
      ASSERT_TRUE(any) << "refused at " << refusal.at << " though the tokens were there";
    }
    local_refusals_ += process.refusals().size();
  }

  /// Checks the statistics of a process: no debited token is left unaccounted for, and the spent
  /// tokens are those that requests got.
  void CheckProcess(const Process& process) const {
    const AllowanceStats stats = process.stats().allowances;
    ASSERT_EQ(process.under_way(), 0) << "each request has one answer";
    ASSERT_TRUE(process.leaving() || stats.out == 0U) << "nothing is held when all is over";
    ASSERT_TRUE(process.dead() || stats.spent == process.spent());
  }

  const Shape shape_;
  Rng rng_;
  sim::SimScheduler scheduler_;
  std::unique_ptr<Backend> memory_ =
      MakeMemoryBackend({.idle_grace = milliseconds(1'000'000'000)}, &scheduler_.clock());
  Ledger ledger_;
  milliseconds lifetime_;
  std::map<std::string, Limit> limits_;
  std::list<Process> processes_;
  std::uint64_t lost_to_death_ = 0;
  std::uint64_t local_refusals_ = 0;
};

FleetTotals RunFleets(std::uint64_t first, std::uint64_t count, const Shape& shape) {
  FleetTotals totals;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    Fleet fleet(seed, shape);
    fleet.Go();
    fleet.Check();
    if (::testing::Test::HasFatalFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return totals;
    }
    fleet.AddTo(totals);
  }
  return totals;
}

constexpr sim::Faults kLate{.delay = 1, .longest_delay = std::chrono::milliseconds(20)};

// Fails if: ReserveAllowance leaves the capacity as it is.
TEST(AllowanceSimulation, NeverOverAdmitsHoweverProcessesJoinAndDie) {
  const FleetTotals totals = RunFleets(1, 100, {.faults = kLate});
  EXPECT_GT(totals.deaths, 300U);
  EXPECT_GT(totals.lost_to_death, 100'000U);
  EXPECT_GT(totals.left_holding, 40U);
  EXPECT_GT(totals.decisions, 50'000U);
  EXPECT_GT(totals.debits, 5'000U);
  EXPECT_GT(totals.refused, 500U);
  EXPECT_GT(totals.returned, 100'000U);
  EXPECT_GT(totals.forfeited, 100'000U);
  EXPECT_GT(totals.spent, 10'000'000U);
  EXPECT_GT(totals.direct, 100'000U);
}

TEST(AllowanceSimulation, NorWhenAnswersAreLost) {
  sim::Faults faults = kLate;
  faults.fail_before = 0.08;
  faults.fail_after = 0.08;
  faults.longest_delay = std::chrono::milliseconds(250);
  const FleetTotals totals = RunFleets(10'001, 100, {.faults = faults});
  EXPECT_GT(totals.failed_before, 500U);
  EXPECT_GT(totals.failed_after, 500U);
  EXPECT_GT(totals.timed_out, 500U);
  EXPECT_GT(totals.spent, 1'000'000U);
  EXPECT_GT(totals.direct, 1'000'000U);
}

// U12. Fails if: Allowance::MayDebit considers only the time.
TEST(AllowanceSimulation, U12NorRefusesWhileTokensAreSeenToBeThere) {
  const FleetTotals totals = RunFleets(30'001, 100, {.faults = kLate, .patience = false});
  EXPECT_GT(totals.local_refusals, 10'000U);
  EXPECT_GT(totals.spent, 10'000'000U);
}

// The bound includes the tokens that leases returned from a lifetime before the interval.
TEST(AllowanceSimulation, NorWhenLeasesGiveBack) {
  const FleetTotals totals = RunFleets(20'001, 50, {.faults = kLate, .leases = true});
  EXPECT_GT(totals.spent, 1'000'000U);
}

}  // namespace
}  // namespace weir
