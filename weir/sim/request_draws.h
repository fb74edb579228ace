// The draws, or the script, that decide what happens to each request on a simulated network.
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

/// The draws of one request. Every request makes all of them.
struct RequestDraws {
  NetworkFault fault = NetworkFault::kNone;
  nanoseconds there{0};
  nanoseconds there_again{0};  ///< of a duplicate, counted from the arrival of the first copy
  nanoseconds back{0};
  nanoseconds stray{0};   ///< of a stray request, in addition to `there`
  bool has_tail = false;  ///< the tail is included in `there`
  bool silent = false;
};

/// Not thread-safe.
class DrawGenerator {
 public:
  explicit DrawGenerator(std::uint64_t seed) : rng_(seed), slow_rng_(~seed) {}

  /// Draws for the next request. `operation` is empty if the request has none.
  RequestDraws Draw(const NetworkFaults& odds, std::string_view operation);

  /// See SimTransport::Script.
  void Script(std::string operation, std::uint64_t nth, NetworkFault fault) {
    script_[{std::move(operation), nth}] = fault;
  }
  std::size_t scripted() const { return script_.size(); }

 private:
  // Counts the request and removes its scripted fault, if there is one.
  std::optional<NetworkFault> NextScripted(std::string_view of);
  NetworkFault DrawFault(const NetworkFaults& odds);
  void DrawSlowness(const NetworkFaults& odds, RequestDraws& draws);

  Rng rng_;
  Rng slow_rng_;  // a generator of its own: slowness does not change the other draws of a seed
  std::map<std::pair<std::string, std::uint64_t>, NetworkFault> script_;
  std::map<std::string, std::uint64_t> sent_;
};

}  // namespace weir::sim
