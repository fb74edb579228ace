// A backend whose answers fail, are lost or come late, as a test says.
#pragma once

#include <cstdint>

#include "weir/base/rng.h"
#include "weir/runtime/scheduler.h"
#include "weir/store/backend.h"

namespace weir::sim {

/// Probabilities for each call, drawn in this order.
struct Faults {
  double fail_before = 0;     ///< answers kUnavailable; nothing happened
  double fail_after = 0;      ///< happened, but answers kUnavailable
  double delay = 0;           ///< happens and answers after up to `longest_delay`
  nanoseconds longest_delay{0};
  bool down = false;          ///< every call answers kUnavailable
};

/// How often each fault fired: a test asserts that they did.
struct FaultCounts {
  std::uint64_t calls = 0;
  std::uint64_t failed_before = 0;
  std::uint64_t failed_after = 0;
  std::uint64_t delayed = 0;
};

/// Wraps another backend, which must outlive it, as must the scheduler. Not thread-safe.
class FaultyBackend final : public Backend {
 public:
  FaultyBackend(Backend& inner, Scheduler& scheduler, std::uint64_t seed);
  ~FaultyBackend() override;
  BucketStore& buckets() override;
  ConfigStore& config() override;
  Status Close() override;
  std::string Describe() const override;

  Faults faults;
  const FaultCounts& counts() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace weir::sim
