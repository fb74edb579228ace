// Where slots are held: capacity that time does not give back. A slot is claimed, bound to the
// thing that it became, and free again when that ends. The contract suite
// (store/reservation_contract.h) holds every implementation to this text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "weir/base/done.h"
#include "weir/base/time.h"
#include "weir/runtime/deadline.h"
#include "weir/store/bucket_store.h"

namespace weir {

/// A limited resource and the account that is limited. Texts as weir/model/stored_text.h says, of 1
/// to 255 bytes each.
struct AccountKey {
  std::string resource;
  std::string account;

  friend auto operator<=>(const AccountKey&, const AccountKey&) = default;
};

/// "emr for acme".
std::string Describe(const AccountKey& key);
/// kInvalidArgument for any other name.
[[nodiscard]] Status Check(const AccountKey& key);

/// One slot that is held. Its id is its fence: no other slot ever has it, so what is done in the
/// name of an id reaches this one, or none.
struct HeldSlot {
  AccountKey key;
  std::string id;
  std::string resource_id;  ///< what it is bound to; the id itself until then
  UnixMillis claimed;       ///< 1970 where a client of rate-limiter-py claimed it
  UnixMillis expires;       ///< held while now < expires

  bool bound() const { return resource_id != id; }
  friend bool operator==(const HeldSlot&, const HeldSlot&) = default;
};

/// The id of a slot, and where it is.
struct SlotRef {
  AccountKey key;
  std::string id;
};

struct SlotClaim {
  SlotRef slot;            ///< the id: a new one of NewSlotId
  std::int64_t limit = 0;  ///< refused unless fewer are held; from 0 up
  milliseconds ttl{0};     ///< positive; a store may keep the slot a little longer, and says so
};

/// "w-" and 128 random bits as the text of a UUID (RFC 9562, version 4). By these two letters our
/// slots are told from those of rate-limiter-py's clients, whose ids are UUIDs alone.
std::string NewSlotId(std::uint64_t high, std::uint64_t low);

/// An answer: the slot, or a refusal.
struct ClaimAnswer {
  std::optional<HeldSlot> slot;
  std::int64_t in_use = 0;  ///< of a refusal: how many are held; at least the limit
  std::optional<UnixMillis>
      next_expiry{};  ///< of a refusal: nothing expires before; nothing: unknown
};

/// A thing that has ended: a cluster, a job.
struct EndedResource {
  std::string resource_id;
  /// Slots that were claimed later belong to a later thing of the same name, and stay.
  UnixMillis ended_at;
  /// A slot that is claimed before `ended_at` and bound until then is released at its binding,
  /// whether or not others were bound to the thing before. Not after now: nothing is remembered.
  UnixMillis remember_until{0};
  /// Slots whose time of claiming is not stored (rate-limiter-py's) stay: when slots were released
  /// for this end already, such a slot may be of a later thing of the same name.
  bool spares_undated = false;
};

/// As BucketStore in threads, lifetimes and errors. `now` is the caller's clock; stores that are
/// shared by machines keep a slot for their skew allowance longer than its expiry says, and only
/// then give it to another. Each verb is all or nothing. After an answer was lost
/// (kDeadlineExceeded, kUnavailable) each may be called again with the same arguments, and counts
/// once.
class ReservationStore {
 public:
  virtual ~ReservationStore() = default;

  /// At no instant are more slots of the key held than the limit of the claim that took the last
  /// one; a limit may be raised and lowered while slots are held. The same id again, while it is
  /// held: the slot as it is; once it has expired: a new slot, or kAlreadyExists.
  virtual void Claim(const SlotClaim& claim, UnixMillis now, Deadline deadline,
                     Done<ClaimAnswer> done) = 0;

  /// Names the thing that the slot became, and lets it live for `ttl` from now. kNotFound where the
  /// slot is not held any more. kFailedPrecondition where it is bound to something else, or where
  /// the thing has ended already, as ReleaseResource was told: the slot is then released.
  virtual void Bind(const SlotRef& slot, const std::string& resource_id, milliseconds ttl,
                    UnixMillis now, Deadline deadline, Done<HeldSlot> done) = 0;

  /// Lets it live for `ttl` from now, though never shorter than it would. kNotFound as Bind.
  virtual void Renew(const SlotRef& slot, milliseconds ttl, UnixMillis now, Deadline deadline,
                     Done<HeldSlot> done) = 0;

  /// False where it is not held any more: that is no error.
  virtual void Release(const SlotRef& slot, UnixMillis now, Deadline deadline, Done<bool> done) = 0;

  /// Releases the slot unless it is bound, decided by the store in one step with the release. False
  /// if it is bound, and stays, or if it is not held any more.
  virtual void ReleaseUnbound(const SlotRef& slot, UnixMillis now, Deadline deadline,
                              Done<bool> done) = 0;

  /// Releases every slot that is bound to the thing, of whatever key, and answers how many.
  virtual void ReleaseResource(const EndedResource& ended, UnixMillis now, Deadline deadline,
                               Done<std::size_t> done) = 0;

  /// The slots of a key that are held, in order of their ids.
  virtual void List(const AccountKey& key, const PageRequest& page, UnixMillis now,
                    Deadline deadline, Done<Page<HeldSlot>> done) = 0;
};

}  // namespace weir
