// The lease of a table's aggregator: one owner at a time counts usage. A protocol without I/O.
// Mechanism: docs/design/aggregator.md.
//
//   Start --> read --+-- absent, or own ---------------------> claim --+-- applied --> held
//               ^    |                                          ^      |                 |
//               |    +-- another owner's --> watch for the      |      +-- lost -+       | a third
//               |                            time it is valid --+ unchanged      |       v
//               +-- changed, or no response <------------------------------------+--- renew
//
// With `takes_over`, the lease of another owner is claimed at once; that owner loses it when it
// renews.
//
// The item: PK `_/SYSTEM#`, SK `#AGGREGATOR`; owner S, renewals N, lasts_ms N.
// Each write of an owner raises `renewals`. No clock of another machine is compared: an owner
// counts the time from when it sent the write, a watcher from when it read the item.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <variant>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/dynamodb/table.h"
#include "weir/telemetry/log.h"

namespace weir::dynamo {

struct LeaseOptions {
  /// Not empty. A daemon needs one of its own for each start. Functions that share the batches of
  /// one stream, as those of one Lambda function, share an owner.
  std::string owner;
  milliseconds lasts{30'000};  ///< for this duration after a renewal; over 0
  bool takes_over = false;     ///< claims the lease of another owner at once, until it was held
};

/// Returns the key of the lease's item.
TableKey LeaseKey();

/// Not thread-safe. Sends at most one request at a time: the caller makes it, with a deadline of
/// `RequestDeadline`, and reports its result before the next event. A request that never gets a
/// result blocks the lease, so callers report kDeadline then.
class AggregatorLease {
 public:
  struct Read {};
  using Request = std::optional<std::variant<Read, Write>>;  ///< of the item with LeaseKey

  /// `log` receives "aggregator.lease_acquired" (info: owner), "aggregator.lease_lost" (warning:
  /// owner, by) and "aggregator.lease_watched" (info: owner), and must outlive it.
  AggregatorLease(LeaseOptions options, Log& log);

  Request Start(Instant now);
  Request OnRead(Result<std::optional<Item>> item, Instant now);
  Request OnWrite(tl::expected<WriteAnswer, WriteFailure> outcome, Instant now);
  /// Is to be called at wake().
  Request OnTime(Instant now);
  /// Ends the use of the lease, and leaves it as it is: other processes of the same owner may hold
  /// it. It runs out by itself. No request follows.
  void Stop();

  /// Returns true if no other process holds the lease at `now`.
  bool IsHeldAt(Instant now) const { return now < held_until_; }
  /// Returns the end of the time that the last renewal has given, if it is held.
  Instant held_until() const { return held_until_; }
  /// Returns the latest time for the result of a request that is made now.
  Instant RequestDeadline(Instant now) const { return now + options_.lasts / 3; }
  Instant wake() const { return wake_; }
  /// Returns the other owner whose lease may be valid, by the last response; empty: none.
  const std::string& other_owner() const { return other_owner_; }
  /// Returns true if that owner has renewed its lease while this one watched.
  bool other_is_alive() const { return other_is_alive_; }

 private:
  enum class Sent : std::uint8_t { kNothing, kRead, kClaim, kRenewal };
  /// The lease of another owner, and until when it may be valid if it is not renewed.
  struct Watched {
    Item item;
    Instant until;
  };

  Request ReadItem();
  Request OnItem(const std::optional<Item>& item, Instant now);
  Request Watch(const Item& item, const std::string& owner, Instant now);
  // Requires the owner and the number of renewals that were seen.
  Request Claim(const Item& seen, Instant now);
  Request Renew(Instant now);
  Request Send(Sent kind, Write write, Instant now);
  Write OwnWrite() const;
  void Hold(Instant now);
  void Lose(std::string_view by);
  void WakeAfter(nanoseconds wait, Instant now) { wake_ = now + wait; }

  const LeaseOptions options_;
  Log& log_;
  Sent sent_ = Sent::kNothing;
  Instant sent_at_;
  Instant held_until_{INT64_MIN};
  Instant wake_{INT64_MAX};
  std::optional<Watched> watched_;
  std::string other_owner_;
  bool other_is_alive_ = false;
  bool is_stopped_ = false;
  bool may_take_over_;
};

}  // namespace weir::dynamo
