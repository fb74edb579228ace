// Callers of a simulated fleet that ask at a rate, or again as soon as they are answered.
#pragma once

#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

#include "weir/dynamo/fleet_fixture.h"
#include "weir/sim/dynamo_table.h"

namespace weir::dynamo {

/// A round trip takes 4 to 16 ms.
inline constexpr sim::NetworkFaults kUsualTrips{.shortest_trip = milliseconds(2),
                                                .longest_trip = milliseconds(8)};

struct CallerTally {
  std::int64_t asked = 0;
  std::int64_t admitted = 0;
  std::int64_t refused = 0;
  std::int64_t failed = 0;
  std::int64_t doubtful = 0;                           ///< admitted, and perhaps charged twice
  nanoseconds longest{0};                              ///< from asking to the answer
  std::vector<std::pair<Instant, nanoseconds>> waits;  ///< when it asked, until the answer
};
CallerTally& operator+=(CallerTally& sum, const CallerTally& other);

/// What a caller asks for, each time.
struct CallerTerms {
  std::vector<Charge> charges;
  nanoseconds patience = std::chrono::seconds(1);
  bool keeps = false;  ///< AcquireAndKeep
};

/// They ask from now until `run` is over. The fleet must outlive it, and it their last answer.
class FleetCallers {
 public:
  FleetCallers(Fleet& fleet, nanoseconds run);

  /// Asks again at once (10 us later), always. Returns what it was answered.
  const CallerTally& AskInTurn(FleetProcess& process, CallerTerms terms);
  /// Asks every `gap`, first after `phase`, whatever is open.
  const CallerTally& AskEvery(FleetProcess& process, CallerTerms terms, nanoseconds gap,
                              nanoseconds phase = {});
  CallerTally Sum() const;
  Instant end() const { return end_; }

 private:
  struct Caller {
    FleetProcess& process;
    CallerTerms terms;
    nanoseconds gap{0};  // 0: in turn
    CallerTally tally{};
  };
  void Ask(Caller& caller);
  void Answered(Caller& caller, Instant asked, const Result<Decision>& decision);

  Fleet& fleet_;
  Instant end_;
  std::deque<Caller> callers_;
};

/// A bucket of one limit.
TargetPtr OneLimit(std::string_view entity, const Quota& quota);
/// Whole tokens of the only limit.
CallerTerms OneToken(const TargetPtr& target, nanoseconds patience = std::chrono::seconds(1));

/// What the items of the table have of an attribute b_<limit>_tc in sum: takes less returns.
std::int64_t StoredTakes(const Fleet& fleet, std::string_view limit);
/// The size in bytes of the largest item of a bucket now.
std::size_t LargestBucketItem(const Fleet& fleet);
/// Of the stream: changes of the items of this entity's buckets.
std::int64_t WritesOn(const Fleet& fleet, std::string_view entity);
/// GetItem, BatchGetItem, Query.
std::uint64_t Reads(const Fleet& fleet);

}  // namespace weir::dynamo
