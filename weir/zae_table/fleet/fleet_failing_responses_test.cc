// For three seconds every write is applied, and its response is an error of the server. Callers
// with a deadline of one second send their next request at once.
#include <gtest/gtest.h>

#include "weir/zae_table/testing/fleet_callers_fixture.h"

namespace weir::dynamo {
namespace {

using std::chrono::seconds;

constexpr nanoseconds kOutage = seconds(3);

/// One process with this number of callers, which stop when the responses are normal again.
class FailingResponses {
 public:
  explicit FailingResponses(int callers) : callers_(fleet_, kOutage) {
    const TargetPtr target = OneLimit("acme", PerSecond(1'000).Burst(100'000));
    process_.network().faults = kUsualTrips;
    for (int i = 0; i < callers; ++i) callers_.AskInTurn(process_, OneToken(target));
    process_.network().faults.fail_after = 1;
    process_.network().faults.only_writes = true;
    Watch();
    fleet_.scheduler().Advance(kOutage);
    process_.network().faults = kUsualTrips;
    fleet_.scheduler().Advance(seconds(1) + milliseconds(50));
  }
  /// Returns the tokens that are taken and not reported as admitted.
  std::int64_t unreported() const {
    return StoredTakes(fleet_, "rps") / kMillitokens - callers_.Sum().admitted;
  }
  /// Returns the maximum of unreported() during the outage.
  std::int64_t max_unreported() const { return max_unreported_; }
  const FleetCallers& callers() const { return callers_; }

 private:
  void Watch() {
    auto& scheduler = fleet_.scheduler();
    max_unreported_ = std::max(max_unreported_, unreported());
    if (scheduler.clock().Now() >= callers_.end()) return;
    scheduler.At(scheduler.clock().Now() + milliseconds(5), [this] { Watch(); });
  }

  Fleet fleet_{3};
  FleetProcess& process_ = fleet_.Join();
  FleetCallers callers_;
  std::int64_t max_unreported_ = 0;
};

// Each pending caller may have one take, and the takes of one write may have lost their callers.
void ExpectEachChargedOnce(int callers) {
  const FailingResponses run(callers);
  EXPECT_GE(run.callers().Sum().failed, callers);
  EXPECT_LE(run.max_unreported(), 2 * callers);
  EXPECT_EQ(run.unreported(), 0) << "a second after the responses returned";
  EXPECT_LE(run.callers().Sum().longest, seconds(1) + milliseconds(1));
}

TEST(FleetFailingResponses, D2OneCallerIsChargedOnceForEachDecision) { ExpectEachChargedOnce(1); }

TEST(FleetFailingResponses, D2EightCallersAreChargedOnceForEachDecision) {
  ExpectEachChargedOnce(8);
}

}  // namespace
}  // namespace weir::dynamo
