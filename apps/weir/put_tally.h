// What the results of lines add up to.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "apps/weir/kinesis_put.h"
#include "weir/base/mutex.h"
#include "weir/telemetry/histogram.h"

namespace weir::app {

/// Failed lines wait for the results of the lines before them, so that they are kept in the order
/// of the input; if more bytes than this wait, they no longer do.
inline constexpr std::size_t kMostHeldBytes = 64U << 20U;

/// Counts results and holds the lines that are to be kept. Thread-safe.
class PutTally {
 public:
  /// `keeps`: failed lines are asked for.
  explicit PutTally(bool keeps) : keeps_(keeps) {}

  /// Each line that is put, in order; then one of the two below. `number`: from 1.
  void OnRead(std::uint64_t number);
  void OnStored(std::uint64_t number, nanoseconds latency);
  struct Failure {
    std::uint64_t number = 0;
    std::string cause;
    std::optional<std::string> line{};  ///< nothing: it is not kept, or elsewhere
    bool maybe_stored = false;
  };
  void OnFailed(Failure failure);

  std::uint64_t failed() const;
  /// The lines that wait for none before them, in order, each once.
  std::vector<std::string> TakeFailedLines();
  /// failed, maybe_stored, causes, latency.
  void Fill(PutOutcome& outcome) const;

 private:
  void Count(std::uint64_t number, std::string cause) WEIR_REQUIRES(mutex_);

  const bool keeps_;
  Histogram latency_;
  mutable Mutex mutex_;
  std::uint64_t failed_ WEIR_GUARDED_BY(mutex_) = 0;
  std::uint64_t maybe_stored_ WEIR_GUARDED_BY(mutex_) = 0;
  std::vector<FailureCause> causes_ WEIR_GUARDED_BY(mutex_);
  /// Lines without a result, as many as the producer holds; none if nothing is kept.
  std::set<std::uint64_t> open_ WEIR_GUARDED_BY(mutex_);
  std::map<std::uint64_t, std::string> held_ WEIR_GUARDED_BY(mutex_);
  std::size_t held_bytes_ WEIR_GUARDED_BY(mutex_) = 0;
};

}  // namespace weir::app
