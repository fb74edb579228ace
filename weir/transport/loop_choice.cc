#include "weir/transport/loop_choice.h"

#include <tuple>

namespace weir::transport {
namespace {

// Connections that arrive together are dealt by one measurement; a shorter time measures noise.
constexpr nanoseconds kShortestMeasurement = std::chrono::seconds(1);
constexpr double kStep = 0.05;  // of a CPU: smaller differences do not matter

}  // namespace

void LoopChoice::Measure(std::span<const LoopState> states, Instant now) {
  const nanoseconds passed = now - measured_at_;
  if (passed < kShortestMeasurement) return;
  double busy = 0;
  std::size_t connections = 0;
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    const nanoseconds used = states[i].cpu_time - loops_[i].cpu_time;
    loops_[i] = {.cpu_time = states[i].cpu_time,
                 .busy = static_cast<double>(used.count()) / static_cast<double>(passed.count()),
                 .dealt = 0};
    busy += loops_[i].busy;
    connections += states[i].connections;
  }
  measured_at_ = now;
  load_of_connection_ = connections == 0 ? 0 : busy / static_cast<double>(connections);
}

int LoopChoice::LoadOf(const Loop& loop) const {
  return static_cast<int>((loop.busy + static_cast<double>(loop.dealt) * load_of_connection_) /
                          kStep);
}

std::size_t LoopChoice::Choose(std::span<const LoopState> states, Instant now) {
  Measure(states, now);
  const auto rank = [&](std::size_t i) {
    return std::tuple(LoadOf(loops_[i]), states[i].connections);
  };
  std::size_t chosen = (last_ + 1) % loops_.size();
  for (std::size_t i = 2; i <= loops_.size(); ++i) {
    const std::size_t next = (last_ + i) % loops_.size();
    if (rank(next) < rank(chosen)) chosen = next;
  }
  ++loops_[chosen].dealt;
  last_ = chosen;
  return chosen;
}

}  // namespace weir::transport
