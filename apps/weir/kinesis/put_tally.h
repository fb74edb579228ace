// Counts the results of lines and orders the failed ones.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "apps/weir/kinesis/kinesis_put.h"
#include "weir/base/mutex.h"
#include "weir/telemetry/histogram.h"

namespace weir::app {

/// Failed lines are held until the lines before them have a result, so that they are stored in the
/// order of the input. If held lines exceed this number of bytes, they are returned without
/// waiting.
inline constexpr std::size_t kMaxHeldBytes = 64U << 20U;

/// Counts results and holds the failed lines that are to be stored. Thread-safe.
class PutTally {
 public:
  /// `keeps`: failed lines are stored.
  explicit PutTally(bool keeps) : keeps_(keeps) {}

  /// Call it for each line that is put, in order, and then one of the two functions below; for a
  /// line that cannot be put, call OnFailed only. `number` is from 1.
  void OnRead(std::uint64_t number);
  void OnStored(std::uint64_t number, nanoseconds latency);
  struct Failure {
    std::uint64_t number = 0;
    std::string cause;
    /// Nothing: failed lines are not stored, or the reader has stored it (LineReader::KeepTooLong).
    std::optional<std::string> line{};
    bool maybe_stored = false;
  };
  void OnFailed(Failure failure);

  std::uint64_t failed() const;
  /// Returns the failed lines with no pending line before them, in order, each once.
  std::vector<std::string> TakeFailedLines();
  /// Sets failed, maybe_stored, causes and latency.
  void FillOutcome(PutOutcome& outcome) const;

 private:
  void CountFailure(std::uint64_t number, std::string cause) WEIR_REQUIRES(mutex_);

  const bool keeps_;
  Histogram latency_;
  mutable Mutex mutex_;
  std::uint64_t failed_ WEIR_GUARDED_BY(mutex_) = 0;
  std::uint64_t maybe_stored_ WEIR_GUARDED_BY(mutex_) = 0;
  std::vector<FailureCause> causes_ WEIR_GUARDED_BY(mutex_);
  /// The lines without a result, at most as many as the producer holds; empty if failed lines are
  /// not stored.
  std::set<std::uint64_t> open_ WEIR_GUARDED_BY(mutex_);
  std::map<std::uint64_t, std::string> held_ WEIR_GUARDED_BY(mutex_);
  std::size_t held_bytes_ WEIR_GUARDED_BY(mutex_) = 0;
};

}  // namespace weir::app
