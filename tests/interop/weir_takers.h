// Threads that take tokens of one bucket until they are stopped, and a journal of the results.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/base/rng.h"
#include "weir/limiter/limiter.h"
#include "weir/runtime/loop.h"

namespace weir {

/// The requests of the threads.
struct LoadSpec {
  std::string entity;
  std::string resource;
  Amounts amounts;
  bool gives_back = false;  ///< returns a random part of each admitted request
  std::uint64_t threads = 1;
  std::uint64_t seed = 1;
  /// The path of the journal. It has one line for each admitted request and for each return of
  /// tokens, written after the result was received: `begin_ms end_ms take|give name=amount...`, in
  /// whole tokens and milliseconds since 1970.
  std::string journal;
};

struct LoadReport {
  std::uint64_t admitted = 0;
  std::uint64_t refused = 0;
  std::uint64_t contended = 0;
  std::uint64_t maybe_twice = 0;  ///< results that report a possible second charge
  /// The number of these that completed within 100 ms, before a response to the first write counts
  /// as late.
  std::uint64_t maybe_twice_early = 0;
  std::uint64_t errors = 0;
  std::string first_error;
};

/// Runs from construction to Stop(). `limiter` and `clock` must outlive it.
class LoadThreads {
 public:
  LoadThreads(Limiter& limiter, const Clock& clock, LoadSpec spec);
  ~LoadThreads();
  LoadThreads(const LoadThreads&) = delete;
  LoadThreads& operator=(const LoadThreads&) = delete;

  /// Blocks until the threads have ended.
  LoadReport Stop();

 private:
  void Work(std::uint64_t thread);
  /// Makes one request. Returns the pause before the next one.
  milliseconds AskOnce(Rng& rng);
  void GiveBack(Lease lease, Rng& rng);
  void Write(UnixMillis begin, const char* kind, const Amounts& amounts);
  void Count(const Error& error);

  Limiter& limiter_;
  const Clock& clock_;
  const LoadSpec spec_;
  const int journal_;
  std::atomic<bool> stopped_ = false;
  Mutex mutex_;
  LoadReport report_ WEIR_GUARDED_BY(mutex_);
  std::vector<std::jthread> threads_;
};

}  // namespace weir
