// What a seed, or a script, has in store for each request on a simulated network.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "weir/base/rng.h"
#include "weir/sim/sim_network.h"

namespace weir::sim {

/// Everything that is drawn for one request, always.
struct Fate {
  NetworkFault fault = NetworkFault::kNone;
  nanoseconds there{0};
  nanoseconds there_again{0};  ///< of a duplicate, from the instant the first one arrives
  nanoseconds back{0};
  nanoseconds stray{0};   ///< of a stray request, beyond `there`
  bool has_tail = false;  ///< it is in `there`
  bool silent = false;
};

/// Not thread-safe.
class Fates {
 public:
  explicit Fates(std::uint64_t seed) : rng_(seed), slow_rng_(~seed) {}

  /// Of the next request. `operation`: empty if it has none.
  Fate Draw(const NetworkFaults& odds, std::string_view operation);

  /// SimTransport::Script.
  void Script(std::string operation, std::uint64_t nth, NetworkFault fault) {
    script_[{std::move(operation), nth}] = fault;
  }
  std::size_t scripted() const { return script_.size(); }

 private:
  std::optional<NetworkFault> NextScripted(std::string_view of);
  NetworkFault DrawFault(const NetworkFaults& odds);
  void DrawSlowness(const NetworkFaults& odds, Fate& fate);

  Rng rng_;
  Rng slow_rng_;  // its own, so that what else a seed draws stays as it is
  std::map<std::pair<std::string, std::uint64_t>, NetworkFault> script_;
  std::map<std::string, std::uint64_t> sent_;
};

}  // namespace weir::sim
