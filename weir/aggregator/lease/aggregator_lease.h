// The lease of a table's aggregator: one owner at a time counts usage. A protocol without I/O.
// Mechanism: docs/design/aggregator.md.
//
//   Start --> read
//   read  --> response: item;  no response: read again after a pause
//   item  --> absent, or own: claim
//         --> another owner's: watch, or claim if it was watched for its time and is unchanged
//   watch --> read, when the time for which the item is valid is over
//   claim --> applied: held;   lost to another write: item;  no response: read after a pause
//   held  --> a third of the time is over: renew
//   renew --> applied: held;   lost to another owner: item;  no response: renew again after a
//                              pause, or read if the time is over
//
// With `takes_over`, the lease of another owner is claimed at once; that owner notices the loss
// when it renews.
//
// The item: PK `_/SYSTEM#`, SK `#AGGREGATOR`; owner S, renewals N, lasts_ms N.
// Each write of an owner raises `renewals`. Clocks of two machines are never compared: an owner
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
  /// Not empty. Processes that share the records of one stream share an owner: the daemons of a
  /// table, or the environments of one Lambda function.
  std::string owner;
  milliseconds lifetime{30'000};  ///< how long the lease is valid after a renewal; over 0
  bool takes_over = false;        ///< until held once, claims the lease of another owner at once
};

/// Returns the key of the lease's item.
TableKey LeaseKey();

/// Not thread-safe. The functions return at most one request at a time. The caller sends it, with
/// the deadline RequestDeadline, and reports the result before the next event. A request without a
/// result would block the lease, so after the deadline the caller reports FailureClass::kDeadline.
class AggregatorLease {
 public:
  struct Read {};
  using Request = std::optional<std::variant<Read, Write>>;  ///< of the item with LeaseKey

  /// `log` receives "aggregator.lease_acquired" (info: owner), "aggregator.lease_lost" (warning:
  /// owner, by) and "aggregator.lease_watched" (info: owner), and must outlive the lease.
  AggregatorLease(LeaseOptions options, Log& log);

  Request Start(Instant now);
  Request OnRead(Result<std::optional<Item>> item, Instant now);
  Request OnWrite(tl::expected<WriteResponse, WriteFailure> outcome, Instant now);
  /// Must be called at wake().
  Request OnTime(Instant now);
  /// Ends the use of the lease without a write: other processes of the same owner may hold the
  /// lease, and otherwise it runs out. No request follows.
  void Stop();

  /// Returns true if this owner holds the lease at `now`, so that no other owner does.
  bool IsHeldAt(Instant now) const { return now < held_until_; }
  /// Returns the time until which the lease is valid by its last renewal; the beginning of time if
  /// it was not acquired, is lost, or Stop was called.
  Instant held_until() const { return held_until_; }
  /// Returns the latest time for the result of a request that is made now.
  Instant RequestDeadline(Instant now) const { return now + options_.lifetime / 3; }
  Instant wake() const { return wake_; }
  /// Returns the other owner whose lease may be valid, by the last response; empty: none.
  const std::string& other_owner() const { return other_owner_; }
  /// Returns true if other_owner() has renewed its lease while it was watched.
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
  // The write requires the owner and the number of renewals of `seen`.
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
