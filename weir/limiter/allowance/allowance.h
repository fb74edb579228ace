// The tokens of a bucket that one process holds in advance of its requests: a state machine without
// I/O. Mechanism and proof: docs/design/allowances.md.
//
//   request: Want, then Ask
//      |
//      +-- enough tokens held ---------------------------------> kSpent (and perhaps a debit ahead)
//      +-- a debit is in flight -------------------------------> kWait
//      +-- the store failed less than a spacing ago -----------> kCallStore
//      +-- no debit is due and the bucket is not known to
//      |   have the missing tokens ----------------------------> kRefused until retry_at
//      +-- otherwise: begin a debit ---------------------------> kWait
//
//   debit in flight --+--> OnDebited: the tokens become a lot, usable for 3/4 of the lifetime
//                     +--> OnRefused, OnContended: no debit before the time that the result names
//                     +--> OnFailed: kCallStore for one spacing
//
//   lot --+--> spent by requests
//         +--> Wake, Drop: returned less the refill since the debit; the rest is forfeited
#pragma once

#include <absl/container/inlined_vector.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "weir/base/time.h"
#include "weir/model/limit.h"

namespace weir {

/// The allowance of a group of limits. Its inputs are requests, results of the store and `now`; its
/// outputs are decisions, and the amounts to debit and to return. Not thread-safe.
/// Amounts are millitokens, one for each limit in the order of construction; every span has this
/// size.
///
/// Debited tokens may be spent for three quarters of the lifetime, counted from a moment before
/// the debit was sent. The last quarter is the time within which a return must take effect.
///
/// Debits have a spacing, with a credit of a few debits for the beginning of demand. A debit that
/// the spacing allows is "in turn". A debit is sent "out of turn" if the bucket is known to have
/// more tokens than the debits in turn would take.
class Allowance {
 public:
  using Millis = absl::InlinedVector<std::int64_t, 4>;
  using View = std::span<const std::int64_t>;

  /// The spacing of debits is half a lifetime, but at most this.
  static constexpr milliseconds kLongestSpacing{1000};
  /// A balance that is not known.
  static constexpr std::int64_t kNotSeen = INT64_MIN;

  /// REQUIRES: lifetime > 0; a valid quota for each limit, with the capacity after
  /// ReserveAllowance.
  Allowance(milliseconds lifetime, std::vector<Quota> quotas);

  /// Records the demand of a request. Call it once for each request, before Ask: the size of debits
  /// follows the demand.
  void Want(View need, Instant now);

  enum class Verdict {
    kSpent,
    kRefused,    ///< until `retry_at`
    kWait,       ///< until the debit in flight has its result; then call Ask again
    kCallStore,  ///< the store failed recently: this request calls the store itself
  };
  struct Step {
    Verdict verdict = Verdict::kRefused;
    /// Send debit() now; its result goes to OnDebited, OnRefused, OnContended or OnFailed.
    bool debit = false;
    Instant retry_at{};
  };
  /// Decides a request, and spends its tokens if they are held.
  Step Ask(View need, Instant now) { return Ask(need, Held(now), now); }
  /// Like the overload above, for a caller that knows Held(now), which is passed as `held`.
  Step Ask(View need, Millis held, Instant now);
  /// Returns whether Ask would return kSpent or kRefused.
  bool CanDecide(View need, View held, Instant now) const;

  /// Returns the amounts of the debit in flight.
  View debit() const { return debit_; }
  /// Returns the time from which the tokens of the debit in flight cannot be spent.
  Instant debit_ends() const { return *sent_ + usable_; }

  /// For each bucket, the shard that paid.
  using Shards = absl::InlinedVector<std::uint32_t, 2>;

  // One of the next four is called once with the result of each debit. `available` is the balance
  // of the bucket before the debit: negative if in debt, kNotSeen for a limit that is not in the
  // result.

  /// The debit was made. `paid_by` is kept for the returns of this debit; it is empty if the store
  /// does not divide buckets.
  void OnDebited(View available, Instant now, Shards paid_by = {});
  /// The debit was refused. The same debit would be refused before `until`, so no debit is sent in
  /// turn until then; but for at least one spacing, and at most kLongestSpacing, because other
  /// processes may return tokens.
  void OnRefused(View available, Instant until, Instant now);
  /// The debit was refused by no limit, because other processes wrote to the buckets. No debit is
  /// sent before `until`, or for kLongestSpacing if that is shorter.
  void OnContended(Instant until, Instant now);
  /// The debit failed, and its tokens, if any were taken, are lost.
  void OnFailed(Instant now);

  /// A return to the bucket, which must take effect by `deadline` or never. `amounts` are the
  /// unspent tokens less the refill from the debit to `deadline`: the bucket must not hold more
  /// than if the debit had not been made.
  struct Return {
    Millis amounts;
    Instant deadline;
    Shards paid_by;
  };
  struct Departures {
    std::vector<Return> returns;
    std::int64_t forfeited = 0;  ///< sum over all limits
  };
  /// Removes the lots that are expired or spent. If no request came for a quarter of the lifetime,
  /// also removes the lots of which at least one whole token can be returned. Call it every quarter
  /// of the lifetime while not idle().
  Departures Wake(Instant now);
  /// Removes all held tokens. If a debit is in flight, call it again after its result.
  Departures Drop(Instant now);

  /// Returns the tokens that can be spent at `now`.
  Millis Held(Instant now) const;
  /// Returns the balance of the bucket after the last result; kNotSeen for limits that are not in
  /// that result.
  View left() const { return left_; }
  /// Returns true if no tokens are held, no debit is in flight, and no request came for two
  /// lifetimes.
  bool idle(Instant now) const;
  nanoseconds quarter() const { return lifetime_ / 4; }

 private:
  /// The tokens of one debit.
  struct Lot {
    Instant sent;
    Millis left;
    Shards paid_by;
  };

  bool IsUsable(const Lot& lot, Instant now) const { return now < lot.sent + usable_; }
  /// Takes `need` from the lots, oldest first. REQUIRES: Covers(Held(now), need).
  void SpendTokens(View need, Instant now);
  /// Returns whether a debit should be sent before the held tokens are used up.
  bool RunsLow(View need, const Millis& left, Instant now);
  /// Sets debit_ and marks it as in flight. Returns false if there is nothing to debit.
  bool BeginDebit(View need, const Millis& held, Instant now);
  /// Returns the time from which a debit may be sent in turn.
  Instant NextDebit() const;
  /// Returns whether a debit for `need` may be sent, in turn or out of turn.
  bool MayDebit(View need, View held, Instant now) const;
  Instant RetryAt(View need, View held) const;
  /// Records the balance that a result shows.
  void RecordBalance(View available, Instant now);
  /// Begins a new window of demand if the current one is over.
  void RollDemandWindow(Instant now);
  /// Returns the amount of one limit that was requested in the last `window_`.
  std::int64_t DemandFor(std::size_t limit, Instant now) const;
  /// Adds the return of a lot, which the caller then removes, to `departures`. Returns false if the
  /// lot is to stay: `must_end` is false and less than a token of each limit could be returned.
  bool AddReturn(const Lot& lot, bool must_end, Instant now, Departures& departures) const;

  const nanoseconds lifetime_;
  const nanoseconds usable_;   ///< debited tokens may be spent for this time
  const nanoseconds spacing_;  ///< time between debits, after the first kAhead
  const nanoseconds window_;   ///< demand is measured over this time
  const std::vector<Quota> quotas_;
  absl::InlinedVector<Lot, 2> lots_;  ///< oldest first
  Millis debit_;                      ///< amounts of the last debit
  std::optional<Instant> sent_;       ///< start of the debit in flight
  Millis seen_;                       ///< balance before the last debit that had a decision
  Millis left_;                       ///< balance after that debit
  Millis out_of_turn_threshold_;      ///< with more than this left, a debit may go out of turn
  Instant seen_at_;                   ///< time of the result that set `seen_`
  Instant paid_until_;                ///< each debit advances this by one spacing
  Instant not_before_;                ///< after a refusal: no debit in turn before this time
  int refusals_ = 0;                  ///< consecutive refused debits
  Instant direct_until_;              ///< after a failure: requests call the store until then
  Instant last_request_;              ///< time of the last request
  Instant window_began_;
  Millis wanted_;         ///< requested since window_began_
  Millis wanted_before_;  ///< requested in the window before
};

/// Returns the sum over all limits.
std::int64_t SumOf(Allowance::View amounts);
/// Returns whether at least the needed amount of each limit is held.
bool Covers(Allowance::View held, Allowance::View need);

}  // namespace weir
