// Slots, accounts' limits and accounts' tokens that can be closed: no call outlives its place.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "weir/base/mutex.h"
#include "weir/base/result.h"
#include "weir/store/reservation_backend.h"

namespace weir {

/// The same place, which counts its calls. After Close each call is kUnavailable, except that
/// Release and ReleaseUnbound are made while another call is in flight, also within its answer: so
/// a claim that ends in a slot that nobody uses gives it back. Close and the destructor return when
/// every call has its answer, so by the latest of their deadlines. Neither may be called within an
/// answer, nor on a thread that `inner` needs to answer.
std::unique_ptr<ReservationBackend> MakeClosing(std::unique_ptr<ReservationBackend> inner);

/// A place that is opened when it is first asked for. Thread-safe.
class LazyReservations {
 public:
  using Open = std::function<Result<std::unique_ptr<ReservationBackend>>()>;

  explicit LazyReservations(Open open) : open_(std::move(open)) {}

  /// The place, which lives as long as this; or why it could not be opened: the next call tries
  /// again. kUnavailable after Close.
  [[nodiscard]] Result<ReservationBackend*> Get();
  /// As ReservationBackend::Close.
  void Close();

 private:
  const Open open_;
  Mutex mutex_;
  std::unique_ptr<ReservationBackend> opened_ WEIR_GUARDED_BY(mutex_);
  bool closed_ WEIR_GUARDED_BY(mutex_) = false;
};

}  // namespace weir
