// A ReservationBackend that can be closed: no call is pending after Close.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "weir/base/mutex.h"
#include "weir/base/result.h"
#include "weir/store/reservation/reservation_backend.h"

namespace weir {

/// Wraps `inner` and counts its pending calls. After Close, each call fails with kUnavailable,
/// except that Release and ReleaseUnbound still work while another call is in flight, also within
/// its callback: so if a claim completes with a slot that is no longer needed, its callback can
/// release the slot. Close and the destructor return when every call has completed, that is, at the
/// latest of the calls' deadlines. Neither may be called within a callback, or on a thread that
/// `inner` needs to complete a call.
std::unique_ptr<ReservationBackend> MakeClosing(std::unique_ptr<ReservationBackend> inner);

/// A ReservationBackend that is opened on first use. Thread-safe.
class LazyReservations {
 public:
  using Open = std::function<Result<std::unique_ptr<ReservationBackend>>()>;

  explicit LazyReservations(Open open) : open_(std::move(open)) {}

  /// Returns the backend, which lives as long as this object, or the error of opening it; the next
  /// call then tries again. Fails with kUnavailable after Close.
  [[nodiscard]] Result<ReservationBackend*> Get();
  /// Like ReservationBackend::Close. An opening in progress completes first, and its backend is
  /// closed too.
  void Close();

 private:
  const Open open_;
  Mutex mutex_;
  std::unique_ptr<ReservationBackend> opened_ WEIR_GUARDED_BY(mutex_);
  bool closed_ WEIR_GUARDED_BY(mutex_) = false;
};

}  // namespace weir
