// A backend whose answers fail, are lost or come late, as a test says.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "weir/base/rng.h"
#include "weir/runtime/scheduler.h"
#include "weir/store/backend.h"

namespace weir::sim {

/// Probabilities for each call on a store, drawn in this order. Whichever others are set, each call
/// draws the same number of times, so that one more fault leaves the rest of a run as it was.
struct Faults {
  double fail_before = 0;  ///< answers kUnavailable; nothing happened
  double fail_after = 0;   ///< happened, but answers kUnavailable
  double delay = 0;        ///< happens at once, answers after up to `longest_delay`
  nanoseconds longest_delay{0};
  bool down = false;  ///< every call answers kUnavailable, at once
};

/// How often each fault fired: a test asserts that they did.
struct FaultCounts {
  std::uint64_t calls = 0;
  std::uint64_t refused = 0;  ///< down or closed
  std::uint64_t failed_before = 0;
  std::uint64_t failed_after = 0;
  std::uint64_t delayed = 0;    ///< of any answer, also of one that failed
  std::uint64_t timed_out = 0;  ///< of the delayed
};

/// Wraps another backend, which must outlive it, as must the scheduler; closes it only when told
/// to. Not thread-safe. A delay that ends after the call's deadline answers kDeadlineExceeded at
/// the deadline instead. Delayed answers are tasks of the scheduler: destroy this before they ran,
/// and they still come.
class FaultyBackend final : public Backend {
 public:
  FaultyBackend(Backend& inner, Scheduler& scheduler, std::uint64_t seed);
  ~FaultyBackend() override;
  BucketStore& buckets() override;
  ConfigStore& config() override;
  /// Never faulty.
  Status Close() override;
  std::string Describe() const override;

  /// May be changed between calls.
  Faults faults;
  const FaultCounts& counts() const;

 private:
  class State;
  class Buckets;
  class Config;
  std::unique_ptr<State> state_;
  std::unique_ptr<Buckets> buckets_;
  std::unique_ptr<Config> config_;
};

}  // namespace weir::sim
