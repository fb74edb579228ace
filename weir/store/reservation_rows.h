// The rows in which a place keeps slots, accounts' limits and accounts' tokens, as the rules that
// decide on them see them (slot_rules.h, account_rules.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "weir/bucket/bucket.h"
#include "weir/runtime/deadline.h"
#include "weir/store/account_limits.h"
#include "weir/store/reservation_store.h"

namespace weir {

struct HeldCount {
  std::int64_t slots = 0;
  std::optional<UnixMillis> next_expiry;  ///< of the one that expires first
};

/// Of slots that are held, in order of their ids: those after this id, at most so many.
struct SlotRange {
  AccountKey key;
  std::string after;
  std::size_t limit = 0;
};

/// Plain rows, without an opinion on them. Every verb may fail where the rows are in a file; after
/// one that failed, nothing of its transaction is kept. Not thread-safe.
class ReservationRows {
 public:
  virtual ~ReservationRows() = default;

  /// Whether it is held or has expired.
  virtual Result<std::optional<HeldSlot>> FindSlot(const SlotRef& slot) = 0;
  virtual Result<HeldCount> CountHeld(const AccountKey& key, UnixMillis now) = 0;
  virtual Result<std::vector<HeldSlot>> ListHeld(const SlotRange& range, UnixMillis now) = 0;
  /// The slots of the key that were claimed after a time.
  virtual Result<std::vector<HeldSlot>> ClaimedAfter(const AccountKey& key, UnixMillis time) = 0;
  /// The slots that are bound to it, whether they are held or have expired.
  virtual Result<std::vector<HeldSlot>> BoundTo(const std::string& resource_id) = 0;
  virtual Status PutSlot(const HeldSlot& slot) = 0;
  virtual Status EraseSlot(const SlotRef& slot) = 0;
  /// All slots of the key that are not held any more.
  virtual Status EraseExpired(const AccountKey& key, UnixMillis now) = 0;

  virtual Result<std::optional<EndedResource>> FindEnded(const std::string& resource_id) = 0;
  virtual Status PutEnded(const EndedResource& ended) = 0;

  virtual Result<std::optional<AccountLimitRow>> FindLimit(const AccountKey& key) = 0;
  /// In their order.
  virtual Result<std::vector<AccountKey>> LimitKeysOf(const std::string& service) = 0;
  virtual Status PutLimit(const AccountLimitRow& row) = 0;
  virtual Status EraseLimit(const AccountKey& key) = 0;

  /// Buckets have one meter.
  virtual Result<std::optional<Bucket>> FindBucket(const AccountKey& key) = 0;
  virtual Status PutBucket(const AccountKey& key, const Bucket& bucket) = 0;

  /// Forgets a few rows that mean nothing any more: slots that have expired, ends that need not be
  /// remembered, buckets that are full. Called with each new row, it keeps the rows from growing
  /// without end.
  virtual Status Sweep(UnixMillis now) = 0;
};

/// Where the rows are. Thread-safe. Blocks, though not beyond the deadline.
class ReservationPlace {
 public:
  virtual ~ReservationPlace() = default;

  /// `body` has the rows for itself; it may run twice, and then only the second time counts. What
  /// it wrote is durable when Write returns; where a verb of the rows failed nothing is kept, and
  /// that failure is the answer.
  using Body = std::function<void(ReservationRows&)>;
  virtual Status Write(Deadline deadline, const Body& body) = 0;
  /// `body` sees the rows as of one moment, and writes none.
  virtual Status Read(Deadline deadline, const Body& body) = 0;

  virtual std::string Describe() const = 0;
  /// Its bucket time; nothing if it has none.
  virtual std::optional<UnixMillis> Now() const { return std::nullopt; }
};

}  // namespace weir
