// When the work of a closed producer has ended. Inside of the producer only.
#pragma once

#include <utility>

#include "weir/base/done.h"

namespace weir::kinesis {

/// The work has ended when no call is in flight and no delivery is pending, after Close. Not
/// thread-safe. The caller of a function that returns a Done runs this Done, without locks; an
/// empty Done means that there is nothing to run.
class ProducerEnd {
 public:
  /// Notes that this number of deliveries begin: callbacks on an executor, calls of Close, and
  /// tasks that notify callers of Flush.
  void BeginDeliveries(std::size_t deliveries) { deliveries_ += deliveries; }
  /// Notes that a delivery has ended.
  [[nodiscard]] Done<void> EndDelivery();
  /// Notes that no call is in flight, and that none begins any more.
  [[nodiscard]] Done<void> OnCallsEnded();
  /// Stores `done` until EndDelivery or OnCallsEnded returns it at the end of the work; returns it
  /// now if the work has ended. At most one caller.
  [[nodiscard]] Done<void> WhenEnded(Done<void> done);

  /// Returns whether the work has ended.
  bool has_ended() const { return has_ended_ && has_delivered(); }
  /// Returns whether no delivery is pending.
  bool has_delivered() const { return deliveries_ == 0; }

 private:
  /// Marks the work as ended if no call is in flight and no delivery is pending. Returns the stored
  /// Done then. The last one to end may be a call or a delivery.
  Done<void> MarkEndedIfIdle();

  std::size_t deliveries_ = 0;
  bool calls_have_ended_ = false;
  bool has_ended_ = false;
  Done<void> on_end_;
};

}  // namespace weir::kinesis
