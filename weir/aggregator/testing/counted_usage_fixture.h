// The usage that an aggregator has counted on a simulated table.
#pragma once

#include <cstdint>

#include "weir/zae_table/records/usage.h"
#include "weir/zae_table/testing/zae_sim_table.h"

namespace weir::dynamo {

/// Returns the tokens of acme's limit rpm on the resource api in namespace "ns", over all days.
inline std::int64_t CountedUsage(ZaeSimTable& sim) {
  UsageTable usage(sim.table, Keys("ns"));
  const auto page = sim.Ask<Page<UsageSnapshot>>([&](auto done) {
    usage.List({.entity = "acme", .resource = "api", .window = UsageWindow::kDaily}, {}, kNever,
               std::move(done));
  });
  std::int64_t sum = 0;
  for (const UsageSnapshot& snapshot : page->items) sum += snapshot.used.at("rpm");
  return sum;
}

}  // namespace weir::dynamo
