// A backend whose calls fail, lose their result or are delayed, as a test configures it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "weir/base/rng.h"
#include "weir/runtime/scheduler.h"
#include "weir/store/backend.h"

namespace weir::sim {

/// Probabilities for each call on a store. They are drawn in this order, and each call draws the
/// same number of times, whatever their values: one more fault does not change the other draws of a
/// run.
struct Faults {
  double fail_before = 0;  ///< returns kUnavailable; the call is not made
  double fail_after = 0;   ///< returns kUnavailable; the call is made
  double delay = 0;  ///< makes the call at once, and delays its result by up to `longest_delay`
  nanoseconds longest_delay{0};
  bool down = false;  ///< every call returns kUnavailable at once
};

/// Counts how often each fault happened: tests assert that it did.
struct FaultCounts {
  std::uint64_t calls = 0;
  std::uint64_t refused = 0;  ///< calls while it was down, or after Close
  std::uint64_t failed_before = 0;
  std::uint64_t failed_after = 0;
  std::uint64_t delayed = 0;    ///< the number of delayed results, also of failed calls
  std::uint64_t timed_out = 0;  ///< how many of the delayed results timed out
};

/// Wraps another backend, which must outlive it, as must the scheduler. Close closes the other
/// backend; the destructor does not. Not thread-safe. If a delay ends after the call's deadline,
/// the result is kDeadlineExceeded, at the deadline. Delayed results are tasks of the scheduler:
/// they are passed on even if this object has been destroyed.
class FaultyBackend final : public Backend {
 public:
  FaultyBackend(Backend& inner, Scheduler& scheduler, std::uint64_t seed);
  ~FaultyBackend() override;
  BucketStore& buckets() override;
  ConfigStore& config() override;
  /// Never fails by a fault.
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
