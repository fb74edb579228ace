// When the work of a closed producer has ended. Inside of the producer only.
#pragma once

#include <utility>

#include "weir/base/done.h"

namespace weir::kinesis {

/// The work has ended when no call is in flight and no delivery is pending, after Close. Not
/// thread-safe. A returned Done is run by the caller, without locks; it is empty if there is none
/// to run.
class ProducerEnd {
 public:
  /// Notes this number of deliveries that begin: callbacks that run on an executor, and calls of
  /// Close.
  void BeginDeliveries(std::size_t deliveries) { deliveries_ += deliveries; }
  /// Notes that a delivery has ended.
  [[nodiscard]] Done<void> EndDelivery();
  /// Notes that no call is in flight, and that none begins any more.
  [[nodiscard]] Done<void> OnCallsEnded();
  /// `done` is returned when the work has ended, or now. At most one caller.
  [[nodiscard]] Done<void> WhenEnded(Done<void> done);

  /// Returns whether the work has ended.
  bool has_ended() const { return has_ended_ && has_delivered(); }
  /// Returns whether no delivery is pending.
  bool has_delivered() const { return deliveries_ == 0; }

 private:
  /// Called after each call and each delivery that ends, as either may be the last one.
  Done<void> MarkEndedIfIdle();

  std::size_t deliveries_ = 0;
  bool calls_have_ended_ = false;
  bool has_ended_ = false;
  Done<void> on_end_;
};

}  // namespace weir::kinesis
