#include "weir/sim/request_draws.h"

namespace weir::sim {
namespace {

bool OnlyReads(std::string_view operation) {
  return operation == "GetItem" || operation == "BatchGetItem" || operation == "Query" ||
         operation == "TransactGetItems";
}

}  // namespace

std::optional<NetworkFault> DrawGenerator::NextScripted(std::string_view of) {
  const std::string operation(of);
  std::optional<NetworkFault> fault;
  // A request without an operation is counted once, under the empty name.
  const std::uint64_t nth_of_all = ++sent_[""];
  const std::uint64_t nth = operation.empty() ? nth_of_all : ++sent_[operation];
  for (const auto& key : {std::pair(std::string(), nth_of_all), std::pair(operation, nth)}) {
    const auto found = script_.find(key);
    if (found == script_.end()) continue;
    fault = found->second;
    script_.erase(found);
  }
  return fault;
}

// Always makes all draws, so that a fault leaves the draws of later requests as they are. A script
// and `down` override them afterwards.
RequestDraws DrawGenerator::Draw(const NetworkFaults& odds, std::string_view operation) {
  const std::optional<NetworkFault> scripted = NextScripted(operation);
  RequestDraws draws;
  const auto trip = [&] {
    return nanoseconds(rng_.Between(odds.shortest_trip.count(), odds.longest_trip.count()));
  };
  draws.fault = DrawFault(odds);
  draws.there = trip();
  draws.there_again = trip();
  draws.back = trip();
  draws.silent = rng_.Chance(odds.silence);
  if (odds.only_writes && OnlyReads(operation)) draws.fault = NetworkFault::kNone;
  DrawSlowness(odds, draws);
  if (scripted) draws.fault = *scripted;
  if (odds.down) draws.fault = NetworkFault::kRefuse;
  return draws;
}

void DrawGenerator::DrawSlowness(const NetworkFaults& odds, RequestDraws& draws) {
  draws.stray = nanoseconds(slow_rng_.Between(0, odds.longest_stray.count()));
  const nanoseconds tail(slow_rng_.Between(0, odds.longest_tail.count()));
  draws.has_tail = slow_rng_.Chance(odds.tail);
  if (draws.has_tail) draws.there += tail;
}

NetworkFault DrawGenerator::DrawFault(const NetworkFaults& odds) {
  const std::pair<double, NetworkFault> parts[] = {{odds.refuse, NetworkFault::kRefuse},
                                                   {odds.lose_request, NetworkFault::kLoseRequest},
                                                   {odds.lose_answer, NetworkFault::kLoseAnswer},
                                                   {odds.duplicate, NetworkFault::kDuplicate},
                                                   {odds.fail_before, NetworkFault::kFailBefore},
                                                   {odds.fail_after, NetworkFault::kFailAfter},
                                                   {odds.throttle, NetworkFault::kThrottle},
                                                   {odds.stray, NetworkFault::kStray}};
  double left = rng_.Unit();
  for (const auto& [part, fault] : parts) {
    if (left < part) return fault;
    left -= part;
  }
  return NetworkFault::kNone;
}

}  // namespace weir::sim
