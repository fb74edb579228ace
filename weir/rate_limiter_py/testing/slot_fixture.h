// rate-limiter-py's non-fungible table in a simulated DynamoDB, with our clients and the writes of
// its own clients.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weir/dynamodb/testing/sim_table.h"
#include "weir/rate_limiter_py/slots/slot_store.h"

namespace weir::rate_limiter_py {

inline constexpr UnixMillis kNewYear{1'767'225'600'000};
inline const AccountKey kEmr{"emr", "acme"};
inline constexpr char kResourceIndex[] = "acme-resource-index";

/// Returns a new id for each `number`.
inline std::string IdOf(std::uint64_t number) { return NewSlotId(0, number); }

/// A table of slots, with the writes that rate-limiter-py's clients make.
struct SlotTable {
  explicit SlotTable(std::uint64_t seed = 1);

  dynamo::TableLayout layout;
  dynamo::SimTable sim;

  /// get_reservation counts and puts, without a condition; this is only the put.
  void PyReserve(const AccountKey& key, const std::string& id, UnixMillis expires);
  /// create_token: an update without a condition.
  void PyCreateToken(const AccountKey& key, const std::string& id, const std::string& resource_id,
                     UnixMillis expires);
  /// A deletion by the event manager, by the reservation's delete(), or by DynamoDB's TTL.
  void PyDelete(const AccountKey& key, const std::string& id);
  /// Returns the number that get_reservation counts: live items of the coordinate.
  std::size_t PyCount(const AccountKey& key, UnixMillis now);

  std::optional<dynamo::Item> Row(const AccountKey& key, const std::string& id) {
    return sim.Get(SlotKey({key, id}));
  }
  /// Returns an empty roster if there is none.
  Roster RosterOf(const AccountKey& key);
  /// Returns the number of our slots that have an item, by the second of their expiry.
  std::map<std::int64_t, std::int64_t> OurRows(const AccountKey& key);
};

/// A store of a process whose clock is `ahead` of the true time. Its methods take the true time.
class SlotClient {
 public:
  explicit SlotClient(SlotTable& table, milliseconds ahead = {}, SlotStoreOptions options = {})
      : sim_(table.sim),
        store_(table.sim.table, table.sim.scheduler.clock(), kResourceIndex, options),
        ahead_(ahead) {}

  Result<ClaimResult> Claim(const SlotClaim& claim, UnixMillis now);
  Result<HeldSlot> Bind(const SlotRef& slot, const std::string& resource_id, milliseconds ttl,
                        UnixMillis now);
  Result<HeldSlot> Renew(const SlotRef& slot, milliseconds ttl, UnixMillis now);
  Result<bool> Release(const SlotRef& slot, UnixMillis now);
  Result<std::size_t> ReleaseResource(EndedResource ended, UnixMillis now);
  Result<Page<HeldSlot>> List(const AccountKey& key, UnixMillis now, const PageRequest& page = {});

  SlotStore& store() { return store_; }

 private:
  dynamo::SimTable& sim_;
  SlotStore store_;
  milliseconds ahead_;
};

}  // namespace weir::rate_limiter_py
