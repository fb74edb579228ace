// ReservationRows in maps.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "weir/store/reservation/reservation_rows.h"

namespace weir {

/// No method fails. A value; not thread-safe.
class MemoryRows final : public ReservationRows {
 public:
  Result<std::optional<HeldSlot>> FindSlot(const SlotRef& slot) override;
  Result<HeldCount> CountHeld(const AccountKey& key, UnixMillis now) override;
  Result<std::vector<HeldSlot>> ListHeld(const SlotRange& range, UnixMillis now) override;
  Result<std::vector<HeldSlot>> ClaimedAfter(const AccountKey& key, UnixMillis time) override;
  Result<std::vector<HeldSlot>> BoundTo(const std::string& resource_id) override;
  Status PutSlot(const HeldSlot& slot) override;
  Status EraseSlot(const SlotRef& slot) override;
  Status EraseExpired(const AccountKey& key, UnixMillis now) override;

  Result<std::optional<EndedResource>> FindEnded(const std::string& resource_id) override;
  Status PutEnded(const EndedResource& ended) override;

  Result<std::optional<AccountLimitRow>> FindLimit(const AccountKey& key) override;
  Result<std::vector<AccountKey>> LimitKeysOf(const std::string& service) override;
  Status PutLimit(const AccountLimitRow& row) override;
  Status EraseLimit(const AccountKey& key) override;

  Result<std::optional<Bucket>> FindBucket(const AccountKey& key) override;
  Status PutBucket(const AccountKey& key, const Bucket& bucket) override;

  Status Sweep(UnixMillis now) override;

  /// Returns the number of slots, remembered ends, limits and buckets.
  std::size_t CountRows() const;

 private:
  /// The slots of one key.
  struct KeySlots {
    std::map<std::string, HeldSlot> by_id;
    std::set<std::pair<UnixMillis, std::string>> by_expiry;  // with the slot's id
  };
  using BoundSlot = std::pair<AccountKey, std::string>;  // with the slot's id

  // Removes the slot from by_expiry and bound_.
  void Unindex(KeySlots& slots, const HeldSlot& slot);
  void EraseExpired(KeySlots& slots, UnixMillis now);

  std::map<AccountKey, KeySlots> slots_;
  std::map<std::string, std::set<BoundSlot>> bound_;  // keyed by resource id
  std::map<std::string, EndedResource> ended_;        // keyed by resource id
  std::map<AccountKey, AccountLimitRow> limits_;
  std::map<AccountKey, Bucket> buckets_;
  // The last key that each sweep has visited; empty: the sweep starts from the beginning.
  AccountKey swept_slots_;
  std::string swept_ended_;
  AccountKey swept_buckets_;
};

}  // namespace weir
