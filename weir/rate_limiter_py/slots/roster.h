// The roster of a key: an item next to the key's slots. It counts the slots that Weir's clients
// hold, by the time at which they expire. Every transaction on a counted slot changes the roster
// too.
//
// Attributes: w_held; w_v; w_e<second>, one for each second at which slots expire; w_gone; w_at;
// w_counted; w_sweep (see the members of Roster). A roster has neither resourceId nor
// expirationTime, so rate-limiter-py's readers do not see it and DynamoDB does not delete it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "weir/rate_limiter_py/slots/slot_item.h"

namespace weir::rate_limiter_py {

/// The contents of a roster. Its member functions and the writes below make the same changes.
///
/// Seconds without slots and past seconds stay in the item until a sweep (a ReplaceWrite). A sweep
/// is due after kSweepEvery versions, so the item stays small.
struct Roster {
  std::int64_t held = 0;     ///< the sum of `expiring`
  std::int64_t version = 0;  ///< incremented by each write
  /// The number of slots by the second at which they expire; never negative.
  std::map<std::int64_t, std::int64_t> expiring;
  /// The last second that was dropped: slots that expire at it or earlier are no longer counted.
  std::int64_t dropped_until = 0;
  UnixMillis written;      ///< the time at which a slot was last claimed or its expiry last moved
  UnixMillis counted;      ///< the time at which the roster was last compared with the slots' items
  std::int64_t sweep = 0;  ///< the version at which a sweep is due, if it is over kSweepEvery

  /// Returns whether the roster counts a slot that expires at `second`.
  bool Counts(std::int64_t second) const;
  /// Drops the slots that expire at `second` or earlier from the count.
  void DropExpired(std::int64_t second);
  /// Counts a slot that expires at `second`.
  void AddSlot(std::int64_t second, UnixMillis now);
  /// Moves a slot from one second to another. REQUIRES: Counts(from).
  void Move(std::int64_t from, std::int64_t to, UnixMillis now);
  /// Replaces the counts by those of the slots that were found, by the second at which they expire.
  void Recount(std::map<std::int64_t, std::int64_t> found, UnixMillis now);
  bool IsSweepDue() const;
  /// Returns the first second at which a counted slot expires.
  std::optional<std::int64_t> Earliest() const;

  friend bool operator==(const Roster&, const Roster&) = default;
};

inline constexpr std::int64_t kSweepEvery = 64;

/// Returns the key of a roster's item: the sort key is "w_roster#" and the length of the resource's
/// name in bytes. Two keys that share a coordinate have two rosters.
dynamo::TableKey RosterKey(const AccountKey& key);
/// Returns kDataLoss if a number is invalid.
[[nodiscard]] Result<Roster> ReadRoster(const dynamo::Item& item);

/// TakeWrite counts a slot that expires at `second`, if fewer than `room` slots are held. It also
/// fails if a sweep is due, or if `second` has been dropped.
struct TakeArgs {
  std::int64_t second = 0;
  std::int64_t room = 0;
  UnixMillis now;
};
dynamo::Write TakeWrite(const AccountKey& key, const TakeArgs& taking);

/// MoveWrite moves a slot that expires at `from` to the second `to`. It fails if no slot that
/// expires at `from` is counted, if a sweep is due, or if `to` has been dropped.
struct MoveArgs {
  std::int64_t from = 0;
  std::int64_t to = 0;
  UnixMillis now;
};
dynamo::Write MoveWrite(const AccountKey& key, const MoveArgs& moving);

/// Removes a slot that expires at `second` from the count. Fails if no such slot is counted.
dynamo::Write GiveBackWrite(const AccountKey& key, std::int64_t second);

/// Replaces the roster `seen` with `after`, without seconds that have no slots, if the version of
/// the item has not changed.
dynamo::Write ReplaceWrite(const AccountKey& key, const Roster& seen, const Roster& after);

}  // namespace weir::rate_limiter_py
