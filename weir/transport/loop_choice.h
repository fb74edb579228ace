// Which event loop gets a connection.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "weir/base/time.h"

namespace weir::transport {

/// What is known of a loop when a connection is accepted.
struct LoopState {
  nanoseconds cpu_time;     ///< that its thread has used since its start
  std::size_t connections;  ///< of this server, open
};

/// Deals connections by load: a proxy opens few connections and keeps them, and one may cost a
/// hundred times as much as another. A state machine without I/O; not thread-safe.
class LoopChoice {
 public:
  /// REQUIRES: loops >= 1.
  LoopChoice(std::size_t loops, Instant now) : measured_at_(now), loops_(loops) {}

  /// Returns the index of the loop for a connection that is accepted at `now`: the least busy one;
  /// of those that are about as busy, one with the fewest connections; of these, the first after
  /// the last choice. `states` has one element for each loop.
  std::size_t Choose(std::span<const LoopState> states, Instant now);

 private:
  struct Loop {
    nanoseconds cpu_time{0};  ///< at the last measurement
    double busy = 0;          ///< the share of a CPU that it used before that
    std::size_t dealt = 0;    ///< connections that it got since then
  };

  void Measure(std::span<const LoopState> states, Instant now);
  /// Returns the load of a loop in steps of a twentieth of a CPU, what it got since the measurement
  /// included.
  int LoadOf(const Loop& loop) const;

  Instant measured_at_;
  std::vector<Loop> loops_;
  double load_of_connection_ = 0;  ///< on average, at the last measurement
  std::size_t last_ = 0;
};

}  // namespace weir::transport
