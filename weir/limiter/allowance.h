// What one process holds of a bucket ahead of its requests: the rules, as a value.
// Mechanism and proof: docs/design/allowances.md.
#pragma once

#include <absl/container/inlined_vector.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "weir/base/time.h"
#include "weir/model/limit.h"

namespace weir {

/// A value without I/O: requests, answers of the store and `now` go in; what to debit, what to give
/// back and when to look again come out. Not thread-safe. Amounts are millitokens, one for each
/// limit in the order of construction; every span has that size.
///
/// What is debited may be spent for three quarters of the lifetime, counted from before the debit
/// was sent. The rest is the time in which what is given back must have arrived.
class Allowance {
 public:
  using Millis = absl::InlinedVector<std::int64_t, 4>;
  using View = std::span<const std::int64_t>;

  /// Debits are half a lifetime apart, but no more than this.
  static constexpr milliseconds kLongestSpacing{1000};
  static constexpr std::int64_t kNotSeen = INT64_MIN;

  /// REQUIRES: lifetime > 0; a valid quota for each limit, as it stands after SetAside.
  Allowance(milliseconds lifetime, std::vector<Quota> quotas);

  /// A request has come. Once for each, before Ask: what is debited follows this.
  void Want(View need, Instant now);

  enum class Verdict {
    kSpent,
    kRefused,   ///< until `retry_at`
    kWait,      ///< for the answer to the debit under way; then Ask again
    kAskStore,  ///< the store failed lately: this request is for itself
  };
  struct Step {
    Verdict verdict = Verdict::kRefused;
    bool debit = false;  ///< send debit() now; it ends in Debited, Refused or Failed
    Instant retry_at{};
  };
  Step Ask(View need, Instant now) { return Ask(need, Held(now), now); }
  /// `held`: Held(now).
  Step Ask(View need, Millis held, Instant now);
  /// Whether Ask would answer kSpent or kRefused.
  bool Tells(View need, View held, Instant now) const;

  /// The debit under way, and until when its answer is of use.
  View debit() const { return debit_; }
  Instant debit_ends() const { return *sent_ + usable_; }

  /// The shard that paid, of each bucket.
  using Shards = absl::InlinedVector<std::uint32_t, 2>;

  /// The answers to it. `available`: what the bucket had before, negative in debt; kNotSeen for a
  /// limit of which the answer says nothing. `until`: before then the same debit would be refused;
  /// used for at most kLongestSpacing, since others may give back.
  /// `paid_by` is kept for the returns of this debit; empty: the store divides no buckets.
  void Debited(View available, Instant now, Shards paid_by = {});
  void Refused(View available, Instant until, Instant now);
  /// No limit refused: others wrote to the buckets. Nothing is sent before `until`, or for longer
  /// than kLongestSpacing.
  void Contended(Instant until, Instant now);
  void Failed(Instant now);

  /// What leaves: `amounts` go back to the bucket, by `deadline` or never. It is what was left less
  /// what the rate has brought since the debit: the bucket must not hold more than if the debit had
  /// never been.
  struct Return {
    Millis amounts;
    Instant deadline;
    Shards paid_by;
  };
  struct Leaving {
    std::vector<Return> returns;
    std::int64_t forfeited = 0;  ///< of all limits
  };
  /// What is over, and, when nobody asked for a quarter of the lifetime, what is worth its way.
  /// To be called every quarter of the lifetime while not idle().
  Leaving Wake(Instant now);
  /// All that is held. What a debit under way brings is dropped by another call after its answer.
  Leaving Drop(Instant now);

  /// What can be spent at `now`.
  Millis Held(Instant now) const;
  /// What the bucket had after the last answer; kNotSeen where that did not say.
  View left() const { return left_; }
  /// Nothing is held, and nobody asked for two lifetimes.
  bool idle(Instant now) const;
  nanoseconds quarter() const { return lifetime_ / 4; }

 private:
  struct Lot {
    Instant sent;
    Millis left;
    Shards paid_by;
  };

  bool Live(const Lot& lot, Instant now) const { return now < lot.sent + usable_; }
  void Spend(View need, Instant now);
  bool RunsLow(View need, const Millis& left, Instant now);
  bool Begin(View need, const Millis& held, Instant now);
  Instant NextDebit() const;
  bool MayDebit(View need, View held, Instant now) const;
  Instant RetryAt(View need, View held) const;
  void See(View available, Instant now);
  void Roll(Instant now);
  std::int64_t Demand(std::size_t limit, Instant now) const;
  bool Leave(const Lot& lot, bool over, Instant now, Leaving& leaving) const;

  const nanoseconds lifetime_;
  const nanoseconds usable_;   ///< how long what is debited may be spent
  const nanoseconds spacing_;  ///< debits are so far apart, after the first few
  const nanoseconds window_;   ///< over which demand is measured
  const std::vector<Quota> quotas_;
  absl::InlinedVector<Lot, 2> lots_;  ///< oldest first
  Millis debit_;                      ///< of the last debit
  std::optional<Instant> sent_;       ///< of the debit under way
  Millis seen_;                       ///< what the bucket had before the last debit
  Millis left_;                       ///< ... and after it
  Millis enough_;                     ///< more than this left: it is debited again at once
  Instant seen_at_;                   ///< when that answer came
  Instant paid_until_;                ///< debits use up their spacing; a few may be ahead
  Instant not_before_;                ///< a refusal told so
  int refusals_ = 0;                  ///< in a row
  Instant direct_until_;              ///< the store failed
  Instant asked_;                     ///< by the last request
  Instant window_began_;
  Millis wanted_;         ///< since then
  Millis wanted_before_;  ///< in the window before
};

std::int64_t SumOf(Allowance::View amounts);
/// Of each limit at least as much as is needed.
bool Covers(Allowance::View held, Allowance::View need);

}  // namespace weir
