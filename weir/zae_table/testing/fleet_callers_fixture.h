// Callers of a simulated fleet that send requests at a rate, or whenever they have a result.
#pragma once

#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

#include "weir/sim/dynamodb/dynamo_table.h"
#include "weir/zae_table/testing/fleet_fixture.h"

namespace weir::dynamo {

/// A round trip takes 4 to 16 ms.
inline constexpr sim::NetworkFaults kUsualTrips{.shortest_trip = milliseconds(2),
                                                .longest_trip = milliseconds(8)};

struct CallerTally {
  std::int64_t asked = 0;
  std::int64_t admitted = 0;
  std::int64_t refused = 0;
  std::int64_t failed = 0;
  std::int64_t doubtful = 0;                           ///< admitted, and possibly charged twice
  nanoseconds longest{0};                              ///< from the request to its result
  std::vector<std::pair<Instant, nanoseconds>> waits;  ///< time of the request, until result
};
CallerTally& operator+=(CallerTally& sum, const CallerTally& other);

/// The request that a caller sends each time.
struct CallerTerms {
  std::vector<Charge> charges;
  nanoseconds patience = std::chrono::seconds(1);
  bool keeps = false;  ///< uses AcquireAndKeep
};

/// The callers send requests from now until `run` is over. The fleet must outlive this object, and
/// it their last results.
class FleetCallers {
 public:
  FleetCallers(Fleet& fleet, nanoseconds run);

  /// Sends the next request 10 us after each result. Returns the tally of the caller, which lives
  /// as long as this object.
  const CallerTally& AskInTurn(FleetProcess& process, CallerTerms terms);
  /// Sends a request every `gap`, the first after `phase`, however many are pending.
  const CallerTally& AskEvery(FleetProcess& process, CallerTerms terms, nanoseconds gap,
                              nanoseconds phase = {});
  CallerTally Sum() const;
  Instant end() const { return end_; }

 private:
  struct Caller {
    FleetProcess& process;
    CallerTerms terms;
    nanoseconds gap{0};  // 0: the next request follows the result
    CallerTally tally{};
  };
  void Ask(Caller& caller);
  void OnResult(Caller& caller, Instant asked, const Result<Decision>& decision);

  Fleet& fleet_;
  Instant end_;
  std::deque<Caller> callers_;
};

/// Returns the target of a bucket with one limit.
TargetPtr OneLimit(std::string_view entity, const Quota& quota);
/// Returns terms that take one token of the target's only limit.
CallerTerms OneToken(const TargetPtr& target, nanoseconds patience = std::chrono::seconds(1));

/// Returns the sum of b_<limit>_tc over the items of the table: takes less returns.
std::int64_t StoredTakes(const Fleet& fleet, std::string_view limit);
/// Returns the present size in bytes of the largest item of a bucket.
std::size_t LargestBucketItem(const Fleet& fleet);
/// Returns the number of changes of the items of this entity's buckets, by the table's stream.
std::int64_t WritesOn(const Fleet& fleet, std::string_view entity);
/// Returns the number of GetItem, BatchGetItem and Query requests.
std::uint64_t Reads(const Fleet& fleet);

}  // namespace weir::dynamo
