// A reserved slot, held by the caller until the resource that it is for has been created and bound.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "weir/base/api.h"
#include "weir/base/done.h"
#include "weir/base/time.h"
#include "weir/store/reservation/reservation_store.h"

namespace weir {

struct ReservedSlot;

/// One slot. The destructor releases the slot unless it is bound, also while an exception unwinds.
/// The store decides whether the slot is bound; the destructor does not wait for the result. A
/// bound slot stays held until its resource ends (by an event, or by Release) or until it expires.
/// The slot's id is a fence: a call never affects a slot that another caller claimed later.
///
/// Movable; not thread-safe; must not outlive its ReservationLimiter. Only one call may be in
/// flight at a time. The object may be moved and destroyed during the call.
///
/// Blocking calls fail on threads that run callbacks (CallbackScope); the forms with a `done` work
/// there. The deadline of each call is the limiter's `store_timeout`. Calls on a reservation that
/// has ended or was moved from fail with kFailedPrecondition.
class WEIR_API Reservation {
 public:
  /// An inactive reservation, like one that was moved from.
  Reservation() = default;
  /// Used by ReservationLimiter.
  explicit Reservation(std::shared_ptr<ReservedSlot> slot);
  Reservation(Reservation&& other) noexcept;
  /// Ends this reservation as the destructor does, then takes over `other`.
  Reservation& operator=(Reservation&& other) noexcept;
  ~Reservation();

  /// Returns false after a release, or after the store reported that the slot is not held any more.
  bool active() const;

  // The next six return the last known state. REQUIRES: not moved from.

  bool bound() const;
  const AccountKey& key() const;
  const std::string& id() const;
  /// Returns the id of the bound resource, or the slot's id if it is not bound.
  std::string resource_id() const;
  UnixMillis expires() const;
  /// Returns whether the slot has expired, by the time of the store.
  bool expired() const;

  /// Binds the slot to the resource that was created for it, and sets its expiry to `ttl` from now
  /// (by default ReservationOptions::token_ttl). Errors: kNotFound if the slot had expired: stop
  /// the resource, or reserve again. kFailedPrecondition if the resource has ended already (the
  /// slot is then released), or if the slot is bound to another resource. After any other error the
  /// slot may be bound: repeat the call. The slot is kept in the meantime, because its resource
  /// exists.
  [[nodiscard]] Status Bind(const std::string& resource_id, std::optional<milliseconds> ttl = {});
  void Bind(const std::string& resource_id, std::optional<milliseconds> ttl, Done<void> done);

  /// Sets the expiry to `ttl` from now, unless it is later already. Fails with kNotFound if the
  /// slot has expired.
  [[nodiscard]] Status Renew(milliseconds ttl);
  void Renew(milliseconds ttl, Done<void> done);

  /// Ends this object without a release. Callers that know the id may still use the slot, which is
  /// held until it expires.
  void Keep() &&;

  /// Releases the slot, bound or not. It is not an error if the slot was not held any more. After
  /// an error the call may be repeated; the destructor tries once more.
  [[nodiscard]] Status Release();
  void Release(Done<void> done);

  /// Ends this object, and releases the slot unless this object or any other caller that knows the
  /// id has bound it. The store decides whether it is bound. After an error the call may be
  /// repeated; the destructor tries the same once more.
  [[nodiscard]] Status ReleaseUnlessBound();
  void ReleaseUnlessBound(Done<void> done);

 private:
  Status CheckActive() const;
  /// Ends this object on its destruction or assignment.
  void EndWithoutWaiting();

  std::shared_ptr<ReservedSlot> slot_;
};

}  // namespace weir
