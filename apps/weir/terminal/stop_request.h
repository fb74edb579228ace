// The stop that SIGINT and SIGTERM request.
#pragma once

#include <atomic>
#include <cstdint>

namespace weir::app {

/// The first signal requests a stop. A second one within a second is part of the same request:
/// timeout(1) signals its child, and then the group of both. A later one requests haste
/// if AwaitSecond was called. Otherwise, and after that, a signal ends the process as usual.
/// Lock-free: a signal handler may call Note on any thread.
class StopRequest {
 public:
  static constexpr std::int64_t kRepetition = 1'000'000'000;

  /// `now` is in nanoseconds of a monotonic clock. Returns false if this signal must end the
  /// process.
  bool Note(int signal, std::int64_t now);
  /// Makes a later signal request haste instead of ending the process.
  void AwaitSecond() { is_second_awaited_ = true; }

  bool is_made() const { return signal_ != 0; }
  bool is_hurried() const { return is_hurried_; }
  /// Returns the signal that requested the stop; 0 before.
  int signal() const { return signal_; }

 private:
  std::atomic<int> signal_ = 0;
  std::atomic<std::int64_t> made_at_ = 0;  // set before signal_
  std::atomic<bool> is_second_awaited_ = false;
  std::atomic<bool> is_hurried_ = false;
};

static_assert(std::atomic<int>::is_always_lock_free);
static_assert(std::atomic<std::int64_t>::is_always_lock_free);
static_assert(std::atomic<bool>::is_always_lock_free);

}  // namespace weir::app
