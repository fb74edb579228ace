#include "weir/sim/request_draws.h"

namespace weir::sim {
namespace {

bool OnlyReads(std::string_view operation) {
  return operation == "GetItem" || operation == "BatchGetItem" || operation == "Query" ||
         operation == "TransactGetItems";
}

}  // namespace

std::optional<NetworkFault> DrawGenerator::NextScripted(std::string_view operation_name) {
  const std::string operation(operation_name);
  std::optional<NetworkFault> fault;
  // The empty name counts all requests, also those without an operation.
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

// Consumes the same number of random values for every request, so that enabling a fault does not
// change what later requests get. Scripted faults and `down` then override `fault`.
RequestDraws DrawGenerator::Draw(const NetworkFaults& faults, std::string_view operation) {
  const std::optional<NetworkFault> scripted = NextScripted(operation);
  RequestDraws draws;
  const auto trip = [&] {
    return nanoseconds(rng_.Between(faults.shortest_trip.count(), faults.longest_trip.count()));
  };
  draws.fault = DrawFault(faults);
  draws.request_delay = trip();
  draws.duplicate_delay = trip();
  draws.response_delay = trip();
  draws.is_silent = rng_.Chance(faults.silence);
  if (faults.only_writes && OnlyReads(operation)) draws.fault = NetworkFault::kNone;
  DrawSlowness(faults, draws);
  if (scripted) draws.fault = *scripted;
  if (faults.down) draws.fault = NetworkFault::kRefuse;
  return draws;
}

void DrawGenerator::DrawSlowness(const NetworkFaults& faults, RequestDraws& draws) {
  draws.stray_delay = nanoseconds(slowness_rng_.Between(0, faults.longest_stray.count()));
  const nanoseconds tail_delay(slowness_rng_.Between(0, faults.longest_tail.count()));
  draws.has_tail = slowness_rng_.Chance(faults.tail);
  if (draws.has_tail) draws.request_delay += tail_delay;
}

NetworkFault DrawGenerator::DrawFault(const NetworkFaults& faults) {
  const std::pair<double, NetworkFault> probabilities[] = {
      {faults.refuse, NetworkFault::kRefuse},
      {faults.lose_request, NetworkFault::kLoseRequest},
      {faults.lose_response, NetworkFault::kLoseResponse},
      {faults.duplicate, NetworkFault::kDuplicate},
      {faults.fail_before, NetworkFault::kFailBefore},
      {faults.fail_after, NetworkFault::kFailAfter},
      {faults.throttle, NetworkFault::kThrottle},
      {faults.stray, NetworkFault::kStray}};
  double remaining = rng_.Unit();
  for (const auto& [probability, fault] : probabilities) {
    if (remaining < probability) return fault;
    remaining -= probability;
  }
  return NetworkFault::kNone;
}

}  // namespace weir::sim
