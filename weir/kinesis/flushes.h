// What a Flush waits for: the records of streams that were put before it. Inside of the producer
// only.
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

/// The records of a stream that are not settled, by epochs. A Flush ends one, and so does kStep
/// after its first record, so that the age of the oldest record is known without a list of all.
/// A value.
class Epochs {
 public:
  static constexpr nanoseconds kStep = milliseconds(10);

  /// A record is put. Returns its epoch.
  std::uint64_t Put(Instant at);
  /// A record of this epoch has its result, and its callback is to run. REQUIRES: Put returned it,
  /// once for each call.
  void Answer(std::uint64_t epoch) { --epochs_.find(epoch)->second.unanswered; }
  /// The callback of a record of this epoch has run. True: no earlier record is left. REQUIRES: as
  /// Answer.
  bool Settle(std::uint64_t epoch);
  /// Ends the present epoch and returns it: what was put before is of it, or of an earlier one.
  std::uint64_t End() { return current_++; }
  /// No record of this epoch, or of an earlier one, is left.
  bool IsThrough(std::uint64_t epoch) const;
  /// Each of these records has its result.
  bool IsAnswered(std::uint64_t epoch) const;
  /// When the oldest record was put, or up to kStep earlier; nothing: no record is left.
  std::optional<Instant> oldest() const;

 private:
  struct Epoch {
    std::size_t records = 0;     ///< at least 1
    std::size_t unanswered = 0;  ///< of them
    Instant first;               ///< when the first of it was put
  };

  std::map<std::uint64_t, Epoch> epochs_;
  std::uint64_t current_ = 0;
};

/// A caller that waits, at most until its timer runs.
struct Waiter {
  Done<void> done{};
  std::optional<TimerId> timer{};
};

struct Flusher {
  /// For each stream, the last epoch that it waits for.
  using Awaits = std::map<Producer::Stream*, std::uint64_t>;

  std::uint64_t id = 0;
  Awaits awaits;
  Waiter waiter{};
};

/// The callers of Flush that wait. A value.
class Flushes {
 public:
  /// REQUIRES: `awaits` is not empty.
  Flusher& Add(Flusher::Awaits awaits, Done<void> done);
  /// Appends those that waited for nothing but these epochs of the stream to `through`. True: one
  /// that waited for the stream does so no more.
  bool OnSettled(Producer::Stream& stream, const Epochs& epochs, std::vector<Flusher>& through);
  /// One that waits no more; nothing if it is through.
  std::optional<Flusher> Take(std::uint64_t id);
  /// One waits for results of the stream, and not only for their callbacks.
  bool AwaitsResults(Producer::Stream& stream, const Epochs& epochs) const;

 private:
  std::vector<Flusher> flushers_;
  std::uint64_t next_id_ = 1;
};

}  // namespace weir::kinesis
