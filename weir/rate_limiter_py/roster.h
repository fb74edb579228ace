// How many of our slots a key holds, and when they expire: one item beside them, its roster, that
// every transaction on one of them changes too.
//
// Attributes: w_held; w_v; w_e<second>, one for each second at which slots expire; w_gone; w_at;
// w_counted; w_sweep. It has neither resourceId nor expirationTime, so the readers of
// rate-limiter-py never see it and DynamoDB never deletes it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "weir/rate_limiter_py/slot_item.h"

namespace weir::rate_limiter_py {

/// The image of one. A value. Its changes here and the writes below do the same.
///
/// Seconds without slots and those that are over stay in the item until it is swept, which is due
/// after kSweepEvery versions: so it stays small however its slots come and go.
struct Roster {
  std::int64_t held = 0;                          ///< the sum of `expiring`
  std::int64_t version = 0;                       ///< one more with each write
  std::map<std::int64_t, std::int64_t> expiring;  ///< by the second: so many expire then; from 0 up
  /// What expires at this second or before is held by nobody: its places were given away.
  std::int64_t gone = 0;
  UnixMillis written;      ///< when a slot was last claimed or prolonged
  UnixMillis counted;      ///< when it was last held against the slots' own items
  std::int64_t sweep = 0;  ///< due at this version, though not before kSweepEvery

  /// False: no slot that expires then has a place.
  bool Counts(std::int64_t second) const;
  /// Gives away the places of slots that expire at `second` or before.
  void Drop(std::int64_t second);
  void Take(std::int64_t second, UnixMillis now);
  /// REQUIRES: Counts(from).
  void Move(std::int64_t from, std::int64_t to, UnixMillis now);
  /// So many slots were found, by the second at which they expire.
  void Recount(std::map<std::int64_t, std::int64_t> found, UnixMillis now);
  bool IsSweepDue() const;
  /// The first second at which one of them expires.
  std::optional<std::int64_t> Earliest() const;

  friend bool operator==(const Roster&, const Roster&) = default;
};

inline constexpr std::int64_t kSweepEvery = 64;

/// Of a key: two keys that share a coordinate have two rosters. "w_roster#" and the size of the
/// resource's name in bytes.
dynamo::TableKey RosterKey(const AccountKey& key);
/// kDataLoss where a number is none.
[[nodiscard]] Result<Roster> ReadRoster(const dynamo::Item& item);

/// A place for a slot that expires at `second`, if fewer than `room` are taken. Fails too where a
/// sweep is due, or such a slot would count as gone.
struct Taking {
  std::int64_t second = 0;
  std::int64_t room = 0;
  UnixMillis now;
};
dynamo::Write TakeWrite(const AccountKey& key, const Taking& taking);

/// A slot that expires at `from` will do so at `to`. Fails where none that expires at `from` has a
/// place, and where TakeWrite would for want of a sweep or because of the second.
struct Moving {
  std::int64_t from = 0;
  std::int64_t to = 0;
  UnixMillis now;
};
dynamo::Write MoveWrite(const AccountKey& key, const Moving& moving);

/// A slot that expires at `second` gives its place back. Fails where none such has one.
dynamo::Write GiveBackWrite(const AccountKey& key, std::int64_t second);

/// Makes `after` of what is still `seen`: swept, and one version more.
dynamo::Write ReplaceWrite(const AccountKey& key, const Roster& seen, const Roster& after);

}  // namespace weir::rate_limiter_py
