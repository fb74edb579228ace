#include "weir/dynamo/fleet_fixture.h"

#include "weir/dynamo/dynamo_fixture.h"

namespace weir::dynamo {

FleetProcess::FleetProcess(sim::SimScheduler& scheduler, sim::SimServer& server,
                           BucketStoreOptions options, milliseconds skew)
    : process_(scheduler, server, options.seed, skew),
      table_(process_.client(), process_.scheduler(), std::string(kFleetTable), options.seed + 3),
      buckets_(table_, Keys(std::string(kFleetNamespace)), process_.scheduler(), options),
      joined_(buckets_, process_.scheduler()) {}

void FleetProcess::StopUntil(Instant until) {
  stops_.push_back({scheduler().clock().Now(), until});
  scheduler().StopUntil(until);
}

Instant FleetProcess::AnswersBy(Instant due, nanoseconds late) const {
  for (const auto& [from, until] : stops_) {
    if (from <= due + late) due = std::max(due, until);
  }
  return due;
}

Fleet::Fleet(std::uint64_t seed, std::int64_t write_capacity)
    : rng_(seed),
      write_capacity_(write_capacity),
      scheduler_(rng_.Next()),
      server_(scheduler_.clock(), rng_.Next()) {
  CreateTableIn(server_, kFleetTable);
}

FleetProcess& Fleet::Join(milliseconds skew) { return JoinWithSeed(rng_.Next() | 1, skew); }

FleetProcess& Fleet::JoinWithSeed(std::uint64_t seed, milliseconds skew) {
  const BucketStoreOptions options{.seed = seed, .write_capacity = write_capacity_};
  processes_.push_back(std::make_unique<FleetProcess>(scheduler_, server_, options, skew));
  return *processes_.back();
}

void Fleet::EnableTtl() {
  server_.Handle(RequestOf({.operation = "UpdateTimeToLive",
                            .body = R"({"TableName":"limits","TimeToLiveSpecification":)"
                                    R"({"Enabled":true,"AttributeName":"ttl"}})"}));
}

sim::NetworkCounts Fleet::CountFaults() const {
  sim::NetworkCounts counts;
  for (const auto& process : processes_) counts += process->network().counts();
  return counts;
}

}  // namespace weir::dynamo
