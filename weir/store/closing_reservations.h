// Slots, accounts' limits and accounts' tokens that can be closed: no call outlives its place.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "weir/base/mutex.h"
#include "weir/base/result.h"
#include "weir/store/reservation_backend.h"

namespace weir {

/// The same place, which counts its calls. After Close each call is kUnavailable; Close and the
/// destructor return when every call before has its answer, so by the latest deadline of those.
/// Neither may be called within an answer, nor on a thread that `inner` needs to answer.
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
