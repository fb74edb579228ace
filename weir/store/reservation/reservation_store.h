// The interface of a store of slots: capacity that does not come back with time. The contract suite
// (store/testing/reservation/reservation_contract.h) tests every implementation against this text.
//
//            Claim             Bind
//    free ----------> held ----------> held and bound
//     ^ ^              |  ^ Renew        |  ^ Renew
//     | +--------------+                 |
//     |    Release, ReleaseUnbound,      |
//     |    expiry, or Bind if the        |
//     |    resource has ended            |
//     +----------------------------------+
//          Release, ReleaseResource, expiry
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "weir/base/api.h"
#include "weir/base/done.h"
#include "weir/base/time.h"
#include "weir/runtime/deadline.h"
#include "weir/store/bucket/bucket_store.h"

namespace weir {

/// A limited resource and the account that is limited. Both are texts of 1 to 255 bytes, valid as
/// in weir/model/stored_text.h.
struct AccountKey {
  std::string resource;
  std::string account;

  friend auto operator<=>(const AccountKey&, const AccountKey&) = default;
};

/// For hash tables. Like BucketKeyHash, it differs between processes.
struct WEIR_API AccountKeyHash {
  std::size_t operator()(const AccountKey& key) const;
};

/// Returns for example "emr for acme".
WEIR_API std::string Describe(const AccountKey& key);
/// Returns kInvalidArgument for invalid texts.
[[nodiscard]] WEIR_API Status Check(const AccountKey& key);

/// One held slot. Its id serves as a fence: no other slot ever has the same id, so a call with an
/// id affects this slot or none.
struct HeldSlot {
  AccountKey key;
  std::string id;
  /// The resource to which the slot is bound; the slot's id if it is not bound.
  std::string resource_id;
  UnixMillis claimed;  ///< 1970 if a client of rate-limiter-py claimed it
  UnixMillis expires;  ///< held while now < expires

  bool bound() const { return resource_id != id; }
  friend bool operator==(const HeldSlot&, const HeldSlot&) = default;
};

/// Identifies a slot.
struct SlotRef {
  AccountKey key;
  std::string id;
};

struct SlotClaim {
  SlotRef slot;  ///< with a new id of NewSlotId
  /// The claim is refused unless fewer slots than this are held. At least 0.
  std::int64_t limit = 0;
  /// Positive. A store may set a slightly later expiry, which it returns.
  milliseconds ttl{0};
};

/// Returns "w-" and 128 random bits as the text of a UUID (RFC 9562, version 4). The prefix
/// distinguishes these slots from those of rate-limiter-py's clients, whose ids are plain UUIDs.
WEIR_API std::string NewSlotId(std::uint64_t high, std::uint64_t low);

/// The result of a claim: the slot, or a refusal.
struct ClaimResult {
  std::optional<HeldSlot> slot;
  std::int64_t in_use = 0;  ///< if refused: the number of held slots, at least the limit
  std::optional<UnixMillis>
      next_expiry{};  ///< if refused: no slot expires before this; nothing: unknown
};

/// A resource that has ended, for example a cluster or a job.
struct EndedResource {
  std::string resource_id;
  /// Slots that were claimed later belong to a later resource of the same name, and are not
  /// released.
  UnixMillis ended_at;
  /// Until this time, a slot that was claimed before `ended_at` is released when it is bound to the
  /// resource, whether or not other slots were bound to it before. If this time is not after now,
  /// the end is not remembered.
  UnixMillis remember_until{0};
  /// True if slots without a stored time of claiming (rate-limiter-py's) are not released. If slots
  /// were released for this end before, such a slot may belong to a later resource of the same
  /// name.
  bool spares_undated = false;
};

/// Threads, lifetimes and errors are as for BucketStore. `now` is the caller's time. A store that
/// several machines share keeps a slot for an allowance for clock skew after its expiry, and only
/// then gives it to another claim. Each call is atomic. If its response was lost
/// (kDeadlineExceeded, kUnavailable), it may be repeated with the same arguments, and counts once.
class WEIR_API ReservationStore {
 public:
  virtual ~ReservationStore() = default;

  /// Claims a slot. At no time are more slots of the key held than the limit of the claim that took
  /// the last one; callers may raise and lower the limit while slots are held. A claim with the id
  /// of a held slot returns that slot unchanged. With the id of an expired slot it claims a new
  /// slot, or fails with kAlreadyExists.
  virtual void Claim(const SlotClaim& claim, UnixMillis now, Deadline deadline,
                     Done<ClaimResult> done) = 0;

  /// Binds the slot to the resource that was created for it, and sets its expiry to `ttl` from now.
  /// Fails with kNotFound if the slot is not held any more. Fails with kFailedPrecondition if the
  /// slot is bound to another resource. If ReleaseResource has reported the end of this resource,
  /// releases the slot and fails with kFailedPrecondition too. Fails with kInvalidArgument if
  /// `resource_id` is the id of the slot itself.
  virtual void Bind(const SlotRef& slot, const std::string& resource_id, milliseconds ttl,
                    UnixMillis now, Deadline deadline, Done<HeldSlot> done) = 0;

  /// Sets the expiry to `ttl` from now, unless it is later already. Fails with kNotFound as Bind.
  virtual void Renew(const SlotRef& slot, milliseconds ttl, UnixMillis now, Deadline deadline,
                     Done<HeldSlot> done) = 0;

  /// Releases the slot. Returns false if it is not held any more, which is not an error.
  virtual void Release(const SlotRef& slot, UnixMillis now, Deadline deadline, Done<bool> done) = 0;

  /// Releases the slot unless it is bound; the store decides and releases atomically. Returns false
  /// if the slot is bound, and stays, or is not held any more.
  virtual void ReleaseUnbound(const SlotRef& slot, UnixMillis now, Deadline deadline,
                              Done<bool> done) = 0;

  /// Releases every slot of any key that is bound to the resource. Returns the number of released
  /// slots.
  virtual void ReleaseResource(const EndedResource& ended, UnixMillis now, Deadline deadline,
                               Done<std::size_t> done) = 0;

  /// Returns the held slots of a key, in the order of their ids.
  virtual void List(const AccountKey& key, const PageRequest& page, UnixMillis now,
                    Deadline deadline, Done<Page<HeldSlot>> done) = 0;
};

}  // namespace weir
