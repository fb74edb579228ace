// Decides at random, or by a script, what happens to each request on a simulated network.
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

/// The values that were drawn for one request. All values are drawn for every request.
struct RequestDraws {
  NetworkFault fault = NetworkFault::kNone;
  nanoseconds request_delay{0};
  /// The delay of the second copy, from the arrival of the first copy.
  nanoseconds duplicate_delay{0};
  nanoseconds response_delay{0};
  /// The delay of a stray (late) request, in addition to `request_delay`.
  nanoseconds stray_delay{0};
  bool has_tail = false;   ///< `request_delay` includes a delay of up to longest_tail
  bool is_silent = false;  ///< a loss is not reported: the request fails at its deadline
};

/// Not thread-safe.
class DrawGenerator {
 public:
  explicit DrawGenerator(std::uint64_t seed) : rng_(seed), slowness_rng_(~seed) {}

  /// Draws for the next request. `operation` is empty if the request has none.
  RequestDraws Draw(const NetworkFaults& faults, std::string_view operation);

  /// See SimTransport::Script.
  void Script(std::string operation, std::uint64_t nth, NetworkFault fault) {
    script_[{std::move(operation), nth}] = fault;
  }
  std::size_t scripted() const { return script_.size(); }

 private:
  // Counts the request, and removes and returns its scripted fault, if there is one. Scripts for
  // the operation "" count all requests.
  std::optional<NetworkFault> NextScripted(std::string_view operation_name);
  NetworkFault DrawFault(const NetworkFaults& faults);
  void DrawSlowness(const NetworkFaults& faults, RequestDraws& draws);

  Rng rng_;
  Rng slowness_rng_;  // a generator of its own: slowness does not change the other draws of a seed
  std::map<std::pair<std::string, std::uint64_t>, NetworkFault> script_;
  std::map<std::string, std::uint64_t> sent_;
};

}  // namespace weir::sim
