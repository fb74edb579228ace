// The oracle of a simulated fleet finds each kind of difference between table and results.
#include "weir/zae_table/testing/fleet_oracle_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::dynamo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FleetOracle : public testing::Test {
 protected:
  void Acquire(std::int64_t amount) {
    ledger_.Acquire(process_, {{target_, {amount}}}, Soon(), [](const Result<Decision>&) {});
    fleet_.scheduler().RunAll();
  }
  void Adjust(std::int64_t delta, std::uint64_t token) {
    ledger_.Adjust(process_, {{target_, {delta}}}, {token, 1}, Soon(), [](const Status&) {});
    fleet_.scheduler().RunAll();
  }
  // Stores a take whose caller is not in the ledger.
  void AcquireUnseen(std::int64_t amount) {
    const Charge charge{target_, {amount}};
    process_.buckets().Acquire({&charge, 1}, process_.now(), Soon(),
                               [](const Result<Decision>&) {});
    fleet_.scheduler().RunAll();
  }
  void ReturnUnseen(std::int64_t amount) {
    const Charge charge{target_, {-amount}};
    process_.buckets().Adjust({&charge, 1}, AdjustId{77, 77}, process_.now(), Soon(),
                              [](const Status&) {});
    fleet_.scheduler().RunAll();
  }
  Deadline Soon() const {
    return Deadline::After(fleet_.scheduler().clock(), std::chrono::seconds(3));
  }
  LedgerFindings Compare(const LedgerTerms& terms = {}) const {
    return CompareWithTable(ledger_, fleet_, terms);
  }
  std::vector<std::string> Broken(const LedgerTerms& terms = {}) const {
    return Compare(terms).broken;
  }

  mutable Fleet fleet_{1};
  FleetProcess& process_ = fleet_.Join();
  FleetLedger ledger_{fleet_.scheduler().clock()};
  const TargetPtr target_ = MakeTarget({"acme", "llm", 0}, {{"rpm", PerMinute(60).Burst(50)}});
};

TEST_F(FleetOracle, AgreesWithATableThatStoresWhatCallersWereAnswered) {
  Acquire(3'000);
  Acquire(60'000);
  Adjust(-1'000, 1);
  Adjust(-1'000, 1);
  Adjust(500, 2);
  EXPECT_THAT(Broken(), IsEmpty());
}

TEST_F(FleetOracle, FindsAChargeThatNoCallerGot) {
  Acquire(3'000);
  AcquireUnseen(3'000);
  EXPECT_THAT(Broken(), ElementsAre(HasSubstr("6000 millitokens are stored as consumed, by what "
                                              "callers were answered 3000 to 3000")));
  EXPECT_THAT(Broken({.plain_charges = 2}), IsEmpty());
  EXPECT_EQ(Compare().plain_charges, 2);
}

TEST_F(FleetOracle, FindsTokensThatWereNeverCharged) {
  Acquire(3'000);
  ReturnUnseen(3'000);
  EXPECT_THAT(Broken(), ElementsAre(HasSubstr("0 millitokens are stored as consumed, by"),
                                    HasSubstr("callers hold 3000")));
}

TEST_F(FleetOracle, FindsAReturnThatIsDroppedUnlessItMayBe) {
  Acquire(3'000);
  Adjust(-1'000, 1);
  AcquireUnseen(1'000);
  EXPECT_THAT(Broken(), ElementsAre(HasSubstr("3000 millitokens")));
  EXPECT_THAT(Broken({.drops_returns = true}), IsEmpty());
}

TEST_F(FleetOracle, AllowsACallThatFailedToBeChargedUpToTheBound) {
  process_.network().faults.down = true;
  Acquire(3'000);
  process_.network().faults.down = false;
  AcquireUnseen(6'000);
  EXPECT_THAT(Broken({.charges = 2}), IsEmpty());
  EXPECT_THAT(Broken({.charges = 1}), ElementsAre(HasSubstr("6000 millitokens")));
  EXPECT_EQ(Compare().charges, 2);
}

TEST_F(FleetOracle, CountsTheWritesOfClientsOfZaeLimiterAsTheyCountThem) {
  AcquireUnseen(3'000);
  ledger_.NotePeer({{target_, {3'000}}}, {.least = 1, .most = 1});
  EXPECT_THAT(Broken(), IsEmpty());
  ledger_.NotePeer({{target_, {-1'000}}}, {.least = 0, .most = 2});
  EXPECT_THAT(Broken(), IsEmpty());
  ledger_.NotePeer({{target_, {2'000}}}, {.least = 1, .most = 2});
  EXPECT_THAT(Broken(), IsEmpty());
  ledger_.NotePeer({{target_, {1'000}}}, {.least = 1, .most = 1});
  EXPECT_THAT(Broken(), ElementsAre(HasSubstr("3000 millitokens are stored as consumed, by what "
                                              "callers were answered 4000 to 8000"),
                                    HasSubstr("on this shard")));
}

TEST_F(FleetOracle, FindsACallWithoutAnAnswer) {
  process_.network().faults.shortest_trip = process_.network().faults.longest_trip =
      std::chrono::milliseconds(5);
  ledger_.Acquire(process_, {{target_, {1'000}}}, Soon(), [](const Result<Decision>&) {});
  EXPECT_THAT(Broken(), ElementsAre("an acquire of acme got 0 answers"));
  fleet_.scheduler().RunAll();
  EXPECT_THAT(Broken(), IsEmpty());
}

TEST_F(FleetOracle, FindsAnAnswerThatIsLate) {
  Acquire(1'000);
  EXPECT_THAT(Broken({.late = std::chrono::seconds(-4)}),
              ElementsAre("an acquire of acme was answered -3000 ms after its deadline"));
  EXPECT_THAT(Broken({.late = std::chrono::seconds(-3)}), IsEmpty());
}

}  // namespace
}  // namespace weir::dynamo
