// What a reserved request holds until the thing that it reserved for has begun.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "weir/base/done.h"
#include "weir/base/time.h"
#include "weir/store/reservation_store.h"

namespace weir {

struct ReservedSlot;

/// One slot. Leaving the scope releases it unless it is bound, as the store decides, without
/// waiting for the store, also where an exception unwinds; once it is bound it stays held until the
/// thing ends (an event, or Release) or its time is over. Fenced by its id: a call here never
/// reaches a slot that another caller claimed later.
///
/// Movable; not thread-safe; must not outlive its ReservationLimiter. One call at a time: the next
/// begins when the one before has answered. It may be moved and destroyed meanwhile.
///
/// Blocking calls must not be made on the scheduler's own thread; the others take a `done`. All
/// have the limiter's `store_timeout`. One that has ended or was moved from refuses with
/// kFailedPrecondition.
class Reservation {
 public:
  /// Holds nothing, as a moved-from one.
  Reservation() = default;
  explicit Reservation(std::shared_ptr<ReservedSlot> slot);
  Reservation(Reservation&& other) noexcept;
  Reservation& operator=(Reservation&& other) noexcept;  ///< ends what it held as the destructor
  ~Reservation();

  /// False once it was released, or the store said that it is not held any more.
  bool active() const;
  bool bound() const;
  /// These five are of the last state that is known. REQUIRES: not moved from.
  const AccountKey& key() const;
  const std::string& id() const;
  std::string resource_id() const;  ///< the id until it is bound
  UnixMillis expires() const;
  /// Whether expires() is over, by the time of the store.
  bool expired() const;

  /// Names the thing that the slot became, and lets it live for `ttl` from now (nothing:
  /// ReservationOptions::token_ttl). kNotFound: its time was over; stop the thing or reserve anew.
  /// kFailedPrecondition: the thing has ended already (the slot is released) or another was bound.
  /// After another error it may have happened: repeat it. Meanwhile the slot is kept, since the
  /// thing it stands for exists.
  [[nodiscard]] Status Bind(const std::string& resource_id, std::optional<milliseconds> ttl = {});
  void Bind(const std::string& resource_id, std::optional<milliseconds> ttl, Done<void> done);

  /// Lets it live for `ttl` from now, though never shorter than it would. kNotFound as Bind.
  [[nodiscard]] Status Renew(milliseconds ttl);
  void Renew(milliseconds ttl, Done<void> done);

  /// Ends this object, and leaves the slot to whoever knows its id: held until its time is over.
  void Keep() &&;

  /// Gives the slot back, bound or not. That it was not held any more is no error. After an error
  /// it may be repeated; leaving the scope tries once more.
  [[nodiscard]] Status Release();
  void Release(Done<void> done);

  /// Ends this object, and gives the slot back unless it is bound by then, by this object or by
  /// anybody who knows its id: then it stays held. The store decides that. After an error as
  /// Release; leaving the scope then tries the same once more.
  [[nodiscard]] Status ReleaseUnlessBound();
  void ReleaseUnlessBound(Done<void> done);

 private:
  Status CheckActive() const;
  void Leave();

  std::shared_ptr<ReservedSlot> slot_;
};

}  // namespace weir
