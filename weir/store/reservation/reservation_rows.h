// The rows in which slots, accounts' limits and accounts' tokens are stored: the interface that the
// rules use (slot_rules.h, account_rules.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "weir/bucket/bucket.h"
#include "weir/runtime/deadline.h"
#include "weir/store/reservation/account_limits.h"
#include "weir/store/reservation/reservation_store.h"

namespace weir {

struct HeldCount {
  std::int64_t slots = 0;
  std::optional<UnixMillis> next_expiry;  ///< the earliest expiry
};

/// Selects held slots of a key in the order of their ids: at most `limit` slots with ids after
/// `after`.
struct SlotRange {
  AccountKey key;
  std::string after;
  std::size_t limit = 0;
};

/// Plain access to rows, without rules. Every method may fail if the rows are in a file; after a
/// failure, no change of the transaction is stored. Not thread-safe.
class ReservationRows {
 public:
  virtual ~ReservationRows() = default;

  /// Returns the slot, held or expired; nothing if there is no row.
  virtual Result<std::optional<HeldSlot>> FindSlot(const SlotRef& slot) = 0;
  /// Counts the slots of the key that are held at `now`.
  virtual Result<HeldCount> CountHeld(const AccountKey& key, UnixMillis now) = 0;
  virtual Result<std::vector<HeldSlot>> ListHeld(const SlotRange& range, UnixMillis now) = 0;
  /// Returns the slots of the key that were claimed after `time`.
  virtual Result<std::vector<HeldSlot>> ClaimedAfter(const AccountKey& key, UnixMillis time) = 0;
  /// Returns the slots that are bound to the resource, held or expired.
  virtual Result<std::vector<HeldSlot>> BoundTo(const std::string& resource_id) = 0;
  virtual Status PutSlot(const HeldSlot& slot) = 0;
  virtual Status EraseSlot(const SlotRef& slot) = 0;
  /// Erases all slots of the key that are not held at `now`.
  virtual Status EraseExpired(const AccountKey& key, UnixMillis now) = 0;

  virtual Result<std::optional<EndedResource>> FindEnded(const std::string& resource_id) = 0;
  virtual Status PutEnded(const EndedResource& ended) = 0;

  virtual Result<std::optional<AccountLimitRow>> FindLimit(const AccountKey& key) = 0;
  /// Returns the keys in ascending order.
  virtual Result<std::vector<AccountKey>> LimitKeysOf(const std::string& service) = 0;
  virtual Status PutLimit(const AccountLimitRow& row) = 0;
  virtual Status EraseLimit(const AccountKey& key) = 0;

  /// Each bucket has one meter.
  virtual Result<std::optional<Bucket>> FindBucket(const AccountKey& key) = 0;
  virtual Status PutBucket(const AccountKey& key, const Bucket& bucket) = 0;

  /// Removes a few rows that have no effect any more: expired slots, ends that need not be
  /// remembered, and buckets that have been full for kMaxAhead. (A call that waited for the rows
  /// has an earlier `now` than the sweeps before it: if they had removed its bucket as soon as it
  /// was full, the call would find a full bucket at its own time, and the refill since then would
  /// count twice.) It is called with each new row, so that the number of rows stays bounded.
  virtual Status Sweep(UnixMillis now) = 0;
};

/// Gives access to the rows, wherever they are stored. Thread-safe. Calls block, but not beyond the
/// deadline.
class RowTransactions {
 public:
  virtual ~RowTransactions() = default;

  using Body = std::function<void(ReservationRows&)>;
  /// Runs `body` with exclusive access to the rows. `body` may run twice; then only the second run
  /// counts. Its writes are durable when Write returns. If a method of the rows failed, no change
  /// is stored, and Write returns the error of the method.
  virtual Status Write(Deadline deadline, const Body& body) = 0;
  /// Runs `body` with a consistent view of the rows; `body` must not write.
  virtual Status Read(Deadline deadline, const Body& body) = 0;

  virtual std::string Describe() const = 0;
  /// Returns the bucket time; nothing if there is none.
  virtual std::optional<UnixMillis> Now() const { return std::nullopt; }
};

}  // namespace weir
