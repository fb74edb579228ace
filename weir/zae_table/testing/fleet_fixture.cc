#include "weir/zae_table/testing/fleet_fixture.h"

#include "weir/zae_table/testing/zae_sim_table.h"
#include "weir/zae_table/zae_layout.h"

namespace weir::dynamo {

FleetProcess::FleetProcess(sim::SimScheduler& scheduler, sim::SimServer& server,
                           BucketStoreOptions options, milliseconds skew)
    : process_(scheduler, server, options.seed, skew),
      table_(process_.client(), process_.scheduler(), std::string(kFleetTable), options.seed + 3,
             ZaeLayout()),
      buckets_(table_, Keys(std::string(kFleetNamespace)), process_.scheduler(), options) {}

void FleetProcess::StopUntil(Instant until) {
  stops_.push_back({scheduler().clock().Now(), until});
  scheduler().StopUntil(until);
}

Instant FleetProcess::ResultsBy(Instant due, nanoseconds late) const {
  for (const auto& [from, until] : stops_) {
    if (from <= due + late) due = std::max(due, until);
  }
  return due;
}

Fleet::Fleet(std::uint64_t seed, std::int64_t write_capacity)
    : rng_(seed),
      random_(~seed),
      write_capacity_(write_capacity),
      scheduler_(rng_.Next()),
      server_(scheduler_.clock(), rng_.Next()) {
  CreateTableIn(server_, kFleetTable, ZaeLayout());
}

FleetProcess& Fleet::Join(milliseconds skew) { return JoinWithSeed(rng_.Next() | 1, skew); }

FleetProcess& Fleet::JoinWithSeed(std::uint64_t seed, milliseconds skew) {
  // Like the system's random numbers, these are not copied by a fork. The first one identifies the
  // process, and is copied.
  const auto random = [this, first = std::make_shared<bool>(true), seed] {
    return std::exchange(*first, false) ? Rng(seed).Next() : random_.Next();
  };
  const BucketStoreOptions options{
      .seed = seed,
      .random = random,
      .write_capacity = write_capacity_,
      .observe_plan = [this](const FenceValue& value, const BucketRequest& request) {
        for (std::size_t i = 0; i < request.sums.size(); ++i) {
          planned_[value][request.target.limits[i].name] = request.sums[i];
        }
      }};
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
