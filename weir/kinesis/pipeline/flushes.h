// The records that a Flush waits for: those that were put into its streams before it. Inside of the
// producer only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "weir/base/done.h"
#include "weir/base/time.h"
#include "weir/kinesis/producer.h"
#include "weir/runtime/scheduler.h"

namespace weir::kinesis {

/// The records of a stream whose callbacks have not run, counted by epochs: consecutive numbers
/// that the records get when they are put. A Flush ends an epoch; an epoch also ends kStep after
/// its first record, so that the age of the oldest record is known without a list of all records.
/// Not thread-safe.
///
///   Put --> without a result --OnResult--> callback pending --OnCallbackRan--> gone
class Epochs {
 public:
  static constexpr nanoseconds kStep = milliseconds(10);

  /// Counts a record that is put now. Returns its epoch.
  std::uint64_t Put(Instant at);
  /// Notes that a record of this epoch has its result and that its callback is pending. REQUIRES:
  /// Put returned this epoch; once for each call of Put.
  void OnResult(std::uint64_t epoch) { --epochs_.find(epoch)->second.incomplete; }
  /// Notes that the callback of a record of this epoch has run. Returns true if that was the last
  /// record of the oldest epoch. REQUIRES: as OnResult.
  bool OnCallbackRan(std::uint64_t epoch);
  /// Ends the present epoch and returns it. All records that were put before belong to it or to an
  /// earlier one.
  std::uint64_t EndPresent() { return current_++; }
  /// Returns whether the callbacks of all records of this epoch and of earlier ones have run.
  bool IsDone(std::uint64_t epoch) const;
  /// Returns whether all records of this epoch and of earlier ones have their results.
  bool HaveResults(std::uint64_t epoch) const;
  /// Returns when the oldest record was put, or a time up to kStep earlier; nothing if there is no
  /// record.
  std::optional<Instant> oldest() const;

 private:
  struct Epoch {
    std::size_t records = 0;     ///< the records whose callbacks have not run; at least 1
    std::size_t incomplete = 0;  ///< of these, the records without a result
    Instant first;               ///< the time at which the first record of the epoch was put
  };

  /// Only epochs with records.
  std::map<std::uint64_t, Epoch> epochs_;
  std::uint64_t current_ = 0;
};

/// A caller that waits, at most until its timer fires.
struct Waiter {
  Done<void> done{};
  std::optional<TimerId> timer{};
};

/// A caller of Flush that waits.
struct Flusher {
  /// For each stream, the last epoch that the caller waits for.
  using Awaits = std::map<Producer::Stream*, std::uint64_t>;

  std::uint64_t id = 0;
  Awaits awaits;
  Waiter waiter{};
};

/// All callers of Flush that wait. Not thread-safe.
class Flushes {
 public:
  /// Adds a caller; the reference is valid until the next call of Add, OnCallbacksRan or Take.
  /// REQUIRES: `awaits` is not empty.
  Flusher& Add(Flusher::Awaits awaits, Done<void> done);
  /// Updates the callers after all callbacks of an epoch of the stream have run. Moves the callers
  /// that have nothing more to wait for to `finished`. Returns true if a caller does not wait for
  /// this stream any more.
  bool OnCallbacksRan(Producer::Stream& stream, const Epochs& epochs,
                      std::vector<Flusher>& finished);
  /// Removes and returns a caller; nothing if it does not wait any more.
  std::optional<Flusher> Take(std::uint64_t id);
  /// Returns whether a caller waits for results of the stream, and not only for callbacks.
  bool AwaitsResults(Producer::Stream& stream, const Epochs& epochs) const;

 private:
  std::vector<Flusher> flushers_;
  std::uint64_t next_id_ = 1;
};

}  // namespace weir::kinesis
