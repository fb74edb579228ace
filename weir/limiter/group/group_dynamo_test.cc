// Groups and debits of several processes on one table of a simulated DynamoDB, over a bad network.
#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/rng.h"
#include "weir/limiter/limiter.h"
#include "weir/limiter/testing/probe_backend.h"
#include "weir/store/memory/memory_backend.h"
#include "weir/zae_table/testing/fleet_fixture.h"

namespace weir {
namespace {

using std::chrono::seconds;

/// Buckets in the table, configuration in memory.
class TableBackend final : public Backend {
 public:
  TableBackend(BucketStore& buckets, ConfigStore& config) : buckets_(buckets), config_(config) {}
  BucketStore& buckets() override { return buckets_; }
  ConfigStore& config() override { return config_; }
  Status Close() override { return {}; }
  std::string Describe() const override { return "table"; }

 private:
  BucketStore& buckets_;
  ConfigStore& config_;
};

/// Sums of tokens by entity. The only limit is rpm.
using SumsByEntity = std::map<std::string, std::int64_t>;

constexpr std::int64_t kCapacity = 60;
constexpr std::int64_t kParentCapacity = 90;
constexpr std::int64_t kRuleCapacity = 40;

class GroupFleet {
 public:
  GroupFleet(std::uint64_t seed, const sim::NetworkFaults& faults) : rng_(seed), fleet_(seed) {
    memory_->config().Apply({Put(Level::System(), {{"rpm", PerMinute(kCapacity)}}),
                             Put(Level::EntityDefault("p"), {{"rpm", PerMinute(kParentCapacity)}}),
                             PutChild("a", "p"), PutChild("b", "p")},
                            Deadline::Never(), [](const Status& put) { ASSERT_TRUE(put); });
    for (std::uint64_t i = 0; i < 3; ++i) {
      dynamo::FleetProcess& at = fleet_.Join();
      at.network().faults = faults;
      backends_.emplace_back(at.buckets(), memory_->config());
      limiters_.push_back(std::make_unique<Limiter>(backends_.back(), at.scheduler(),
                                                    LimiterOptions{.seed = seed * 7 + i}));
    }
  }

  void Go() {
    for (int i = 0; i < 90; ++i) {
      const nanoseconds at(rng_.Between(0, nanoseconds(kRun).count()));
      fleet_.scheduler().At(fleet_.scheduler().clock().Now() + at, [this] { Request(); });
    }
    fleet_.scheduler().Advance(kRun + kRest);
    for (const auto& process : fleet_.processes()) process->network().faults = {};
    fleet_.scheduler().Advance(kRest);
  }

  /// Each bucket has taken the admitted and the debited tokens, and beyond them at most those that
  /// are in doubt. The admitted tokens are within the capacity and the refill.
  void Check() {
    ASSERT_EQ(results_, 90);
    for (const auto& [entity, capacity] :
         std::map<std::string, std::int64_t>{{"a", kCapacity},
                                             {"b", kCapacity},
                                             {"c", kCapacity},
                                             {"p", kParentCapacity},
                                             {"rule", kRuleCapacity}}) {
      const std::int64_t taken = Taken(entity);
      ASSERT_GE(taken, admitted_[entity] + debited_[entity]) << entity;
      ASSERT_LE(taken, admitted_[entity] + debited_[entity] + doubt_[entity]) << entity;
      const std::int64_t minutes = kRun / std::chrono::minutes(1);
      ASSERT_LE(admitted_[entity], capacity * (1 + minutes)) << entity;
    }
  }

  int admitted() const { return admissions_; }
  int refused() const { return refusals_; }
  int failed() const { return failures_; }
  int debits() const { return debits_; }

 private:
  static constexpr seconds kRun{60};
  static constexpr seconds kRest{60};

  AcquirePart DrawPart() {
    static constexpr std::string_view kEntities[] = {"a", "b", "c", "rule"};
    AcquirePart part{.entity = kEntities[rng_.Below(4)],
                     .resource = "r",
                     .amounts = {{"rpm", rng_.Between(0, 6)}}};
    if (part.entity == "rule") part.target = rule_;
    return part;
  }
  static SumsByEntity SumsOf(const std::vector<AcquirePart>& parts) {
    SumsByEntity sums;
    for (const AcquirePart& part : parts) {
      const std::int64_t amount = part.amounts[0].tokens.milli() / kMillitokens;
      sums[std::string(part.entity)] += amount;
      if (part.entity == "a" || part.entity == "b") sums["p"] += amount;
    }
    return sums;
  }
  static void Add(SumsByEntity& to, const SumsByEntity& sums) {
    for (const auto& [entity, amount] : sums) to[entity] += amount;
  }

  void Request() {
    std::vector<AcquirePart> parts;
    for (std::int64_t i = rng_.Between(1, 4); i > 0; --i) parts.push_back(DrawPart());
    Limiter& limiter = *limiters_[rng_.Below(limiters_.size())];
    const Deadline deadline =
        Deadline::After(fleet_.scheduler().clock(), milliseconds(rng_.Between(20, 2'000)));
    if (rng_.Chance(0.2)) {
      return limiter.Debit(parts, deadline, [this, sums = SumsOf(parts)](const Status& got) {
        ++results_;
        ++(got ? debits_ : failures_);
        Add(got ? debited_ : doubt_, sums);
      });
    }
    limiter.AcquireAll({.parts = parts}, deadline,
                       [this, sums = SumsOf(parts)](const Result<GroupOutcome>& got) {
                         ++results_;
                         Note(sums, got);
                       });
  }
  void Note(const SumsByEntity& sums, const Result<GroupOutcome>& got) {
    ++(!got ? failures_ : got->outcome.admitted() ? admissions_ : refusals_);
    if (got && got->outcome.admitted()) Add(admitted_, sums);
    if (!got || got->outcome.decision().maybe_charged_twice) Add(doubt_, sums);
  }

  std::int64_t Taken(const std::string& entity) {
    std::int64_t taken = 0;
    const BucketKey key{entity, "r"};
    const Deadline deadline = Deadline::After(fleet_.scheduler().clock(), seconds(10));
    backends_.front().buckets().Read({&key, 1}, deadline, [&](auto records) {
      ASSERT_TRUE(records) << records.error().message;
      if (records->front()) taken = records->front()->bucket.meters[0].consumed / kMillitokens;
    });
    fleet_.scheduler().Advance(seconds(1));
    return taken;
  }

  Rng rng_;
  dynamo::Fleet fleet_;
  std::unique_ptr<Backend> memory_ = MakeMemoryBackend({}, &fleet_.scheduler().clock());
  TargetPtr rule_ =
      MakeTarget({.entity = "rule", .resource = "r"}, {{"rpm", PerMinute(kRuleCapacity)}});
  std::list<TableBackend> backends_;
  std::vector<std::unique_ptr<Limiter>> limiters_;
  SumsByEntity admitted_;
  SumsByEntity debited_;
  SumsByEntity doubt_;
  int results_ = 0;
  int admissions_ = 0;
  int refusals_ = 0;
  int failures_ = 0;
  int debits_ = 0;
};

struct GroupTotals {
  int admitted = 0;
  int refused = 0;
  int failed = 0;
  int debits = 0;
};

GroupTotals RunGroupSeeds(std::uint64_t count, const sim::NetworkFaults& faults) {
  GroupTotals totals;
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    GroupFleet fleet(seed, faults);
    fleet.Go();
    fleet.Check();
    if (::testing::Test::HasFatalFailure()) return totals;
    totals.admitted += fleet.admitted();
    totals.refused += fleet.refused();
    totals.failed += fleet.failed();
    totals.debits += fleet.debits();
  }
  return totals;
}

constexpr nanoseconds kShortTrip = milliseconds(1);
constexpr nanoseconds kLongTrip = milliseconds(8);

// Fails if: a part stays charged although another is refused, or is not charged although the group
// is admitted.
TEST(GroupDynamoTest, EachBucketHasTakenWhatWasAdmitted) {
  const GroupTotals totals =
      RunGroupSeeds(40, {.shortest_trip = kShortTrip, .longest_trip = kLongTrip});
  EXPECT_GT(totals.admitted, 1000);
  EXPECT_GT(totals.refused, 500);
  EXPECT_GT(totals.debits, 200);
}

TEST(GroupDynamoTest, EachBucketHasTakenWhatWasAdmittedOverABadNetwork) {
  const GroupTotals totals = RunGroupSeeds(40, {.refuse = 0.02,
                                                .lose_request = 0.02,
                                                .lose_response = 0.04,
                                                .duplicate = 0.03,
                                                .fail_before = 0.03,
                                                .fail_after = 0.03,
                                                .throttle = 0.03,
                                                .shortest_trip = kShortTrip,
                                                .longest_trip = kLongTrip});
  EXPECT_GT(totals.admitted, 800);
  EXPECT_GT(totals.refused, 300);
  EXPECT_GT(totals.failed, 20);
  EXPECT_GT(totals.debits, 200);
}

}  // namespace
}  // namespace weir
