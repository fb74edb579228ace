// Random groups and debits on the memory backend, compared with a model that is obvious and slow.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "weir/base/rng.h"
#include "weir/limiter/testing/group_fixture.h"

namespace weir {
namespace {

/// The balances of all limits, by bucket and name, in tokens. No time passes, so none is refilled.
class GroupModel {
 public:
  using Name = std::pair<std::string, std::string>;
  using Sums = std::map<Name, std::int64_t>;

  void SetCapacity(const Name& name, std::int64_t capacity) {
    capacities_[name] = balances_[name] = capacity;
  }
  bool Has(const Name& name) const { return capacities_.contains(name); }
  /// An amount of 0 fits into a bucket in debt, too.
  bool Fits(const Sums& sums) const {
    return std::ranges::all_of(sums, [&](const auto& one) {
      return one.second == 0 || one.second <= balances_.at(one.first);
    });
  }
  bool CanEverFit(const Sums& sums) const {
    return std::ranges::all_of(
        sums, [&](const auto& one) { return one.second <= capacities_.at(one.first); });
  }
  void Take(const Sums& sums) {
    for (const auto& [name, amount] : sums) {
      balances_[name] = std::min(balances_[name] - amount, capacities_[name]);
    }
  }
  const Sums& balances() const { return balances_; }

 private:
  Sums capacities_;
  Sums balances_;
};

class GroupModelTest : public GroupTest {
 protected:
  // a and b are below p, which is below g; c has no parent. A rule has limits of its own.
  void Declare() {
    const std::int64_t rpm = rng_.Between(5, 20);
    const std::int64_t tpm = rng_.Between(10, 40);
    Apply({Put(Level::System(), {{"rpm", PerDay(rpm)}, {"tpm", PerDay(tpm)}}), PutChild("a", "p"),
           PutChild("b", "p"), PutChild("p", "g"),
           Put(Level::EntityDefault("p"), {{"tpm", PerDay(tpm + 5)}})});
    for (const char* bucket : {"a", "b", "c", "g"}) {
      model_.SetCapacity({bucket, "rpm"}, rpm);
      model_.SetCapacity({bucket, "tpm"}, tpm);
    }
    model_.SetCapacity({"p", "tpm"}, tpm + 5);
    model_.SetCapacity({"rule", "rpm"}, 7);
    rule_ = MakeTarget({.entity = "rule", .resource = "gpt-4"}, {{"rpm", PerDay(7)}});
  }

  static std::vector<std::string> ChainOf(const std::string& own) {
    if (own == "a" || own == "b") return {own, "p", "g"};
    return {own};
  }

  AcquirePart DrawPart(std::int64_t least) {
    static constexpr std::string_view kEntities[] = {"a", "b", "c", "rule"};
    AcquirePart part{.entity = kEntities[rng_.Below(4)], .resource = "gpt-4", .amounts = {}};
    if (part.entity == "rule") part.target = rule_;
    const bool only_rpm = part.entity == "rule";
    if (only_rpm || rng_.Chance(0.7)) part.amounts.push_back({"rpm", rng_.Between(least, 4)});
    if (!only_rpm && (part.amounts.empty() || rng_.Chance(0.6))) {
      part.amounts.push_back({"tpm", rng_.Between(least, 5)});
    }
    return part;
  }
  std::vector<AcquirePart> DrawParts(std::int64_t least) {
    std::vector<AcquirePart> parts;
    for (std::int64_t i = rng_.Between(1, 6); i > 0; --i) parts.push_back(DrawPart(least));
    return parts;
  }
  GroupModel::Sums SumsOf(const std::vector<AcquirePart>& parts) const {
    GroupModel::Sums sums;
    for (const AcquirePart& part : parts) {
      for (const std::string& bucket : ChainOf(std::string(part.entity))) {
        for (const auto& [limit, tokens] : part.amounts) {
          if (model_.Has({bucket, limit})) sums[{bucket, limit}] += tokens.milli() / kMillitokens;
        }
      }
    }
    return sums;
  }

  void Request() {
    const std::vector<AcquirePart> parts = DrawParts(0);
    const GroupModel::Sums sums = SumsOf(parts);
    GroupOutcome& got = Decided(parts);
    ASSERT_EQ(got.outcome.admitted(), model_.Fits(sums));
    ASSERT_EQ(got.outcome.decision().retry_after == kNeverAdmitted, !model_.CanEverFit(sums));
    ASSERT_EQ(got.targets.size(), parts.size());
    CheckStatuses(got.outcome.decision(), sums);
    (got.outcome.admitted() ? admitted_ : refused_)++;
    if (!got.outcome.admitted()) return;
    Lease lease = std::move(got.outcome).lease();
    if (rng_.Chance(0.3)) {
      ASSERT_TRUE(lease.Cancel());
    } else {
      model_.Take(sums);
    }
  }
  /// Each named limit has one status, with the sum of the parts and the balance before it.
  void CheckStatuses(const Decision& decision, const GroupModel::Sums& sums) const {
    GroupModel::Sums requested;
    for (const LimitStatus& status : decision.limits) {
      const GroupModel::Name name{status.entity, status.limit};
      ASSERT_TRUE(requested.emplace(name, status.requested / kMillitokens).second);
      ASSERT_EQ(status.available / kMillitokens, model_.balances().at(name)) << name.first;
    }
    for (const auto& [name, amount] : sums) ASSERT_EQ(requested.at(name), amount) << name.first;
  }
  void DebitParts() {
    const std::vector<AcquirePart> parts = DrawParts(-6);
    const Status debited = Debit(parts);
    ASSERT_TRUE(debited) << debited.error().message;
    model_.Take(SumsOf(parts));
  }
  void CheckBalances() {
    for (const auto& [name, balance] : model_.balances()) {
      const BucketKey key{name.first, "gpt-4"};
      memory_->buckets().Read({&key, 1}, Deadline::Never(), [&](auto records) {
        const auto& record = records->front();
        if (!record) return;
        const auto at = std::ranges::find(record->names, name.second) - record->names.begin();
        if (at == std::ssize(record->names)) return;
        const Meter& meter = record->bucket.meters[static_cast<std::size_t>(at)];
        ASSERT_EQ(meter.tokens, balance * kMillitokens) << name.first << " " << name.second;
      });
    }
  }

  Rng rng_{1};
  GroupModel model_;
  TargetPtr rule_;
  int admitted_ = 0;
  int refused_ = 0;
};

// Fails if: a part is charged although another is refused; the amounts of two parts on one bucket
// are not added up; or a debit is clamped in parts.
TEST_F(GroupModelTest, DecidesAsTheModelDoes) {
  for (std::uint64_t seed = 1; seed <= 300 && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    outcomes_.clear();
    limiter_.reset();
    memory_ = MakeMemoryBackend({}, &scheduler_.clock());
    limiter_ = std::make_unique<Limiter>(*memory_, scheduler_, LimiterOptions{.seed = seed});
    rng_ = Rng(seed);
    model_ = {};
    Declare();
    for (int i = 0; i < 40 && !HasFatalFailure(); ++i) {
      rng_.Chance(0.25) ? DebitParts() : Request();
      CheckBalances();
    }
  }
  EXPECT_GT(admitted_, 2000);
  EXPECT_GT(refused_, 2000);
}

}  // namespace
}  // namespace weir
