// What an admitted request holds until its true cost is known.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "weir/base/done.h"
#include "weir/model/tokens.h"
#include "weir/store/charge.h"

namespace weir {

class Limiter;
struct Adjustment;
using AdjustmentPtr = std::shared_ptr<Adjustment>;

/// The charges of one admitted request. Leaving the scope commits: what was taken stays taken.
/// Leaving it because an exception unwinds cancels, without waiting for the store. A lease that
/// ended or was moved from refuses with kFailedPrecondition. Movable; not thread-safe; must not
/// outlive its Limiter.
///
/// An adjust ends in one of three ways. Success: it counts. kInvalidArgument, kNotFound,
/// kAlreadyExists, kPermissionDenied, kFailedPrecondition, kOutOfRange, kUnimplemented,
/// kUnauthenticated: it changed nothing and is forgotten. Any other error: the lease keeps it, and
/// sends it again under its token, so that it counts once, however often it is sent. Calling Adjust
/// again would be a second adjust of its own; the retry is Settle(). Before a further adjust, a
/// commit or a cancel is sent, those kept are sent in their order; if one fails again, its error is
/// returned, and a further adjust is kept behind it. The destructor sends them once more, in their
/// order until one fails again, and does not wait for the answers. One that is in doubt ten minutes
/// after it was first sent is given up: it may count or not, and charges() is on the side of fewer
/// tokens in the buckets.
///
/// Blocking calls must not be made on the scheduler's own thread; the others take a `done`.
class Lease {
 public:
  /// Holds nothing, as a moved-from one.
  Lease() = default;
  Lease(Limiter& limiter, std::vector<Charge> charges);
  // Here, because the one of a refusal holds nothing and should cost as much.
  Lease(Lease&& other) noexcept
      : limiter_(std::exchange(other.limiter_, nullptr)),
        charges_(std::move(other.charges_)),
        unsettled_(std::move(other.unsettled_)),
        exceptions_(active() ? std::uncaught_exceptions() : 0) {}
  Lease& operator=(Lease&& other) noexcept;  ///< ends what it held as the destructor does
  ~Lease() {
    if (active()) Leave();
  }

  bool active() const { return limiter_ != nullptr; }
  /// What it stands for now: taken, plus adjusts, minus returns. One entry for each charged bucket,
  /// the entity's own first. Of adjusts that are under way or in doubt, what they give back is
  /// gone already, and what they add is not there yet.
  std::span<const Charge> charges() const;

  /// Adds (positive) or gives back (negative) in every charged bucket that has the limit; limits
  /// that the request did not name may be adjusted too. May leave debt; never fails for want of
  /// tokens. kInvalidArgument: unknown names, a name twice, more given back than it stands for.
  /// kFailedPrecondition: kMaxUnsettled adjusts are in flight or kept already.
  [[nodiscard]] Status Adjust(const Amounts& amounts);
  /// As above, without blocking. The lease may be moved, used and destroyed before `done` runs.
  void Adjust(const Amounts& amounts, Done<void> done);
  /// Gives back: Adjust with the signs turned. Negative amounts are kInvalidArgument.
  [[nodiscard]] Status Release(const Amounts& amounts);
  /// Sends the adjusts that are kept, in their order, under the tokens they have; not those in
  /// flight. Success: all of them count. An error: of the first that did not; those that changed
  /// nothing are forgotten. kDeadlineExceeded: also of one that is given up.
  [[nodiscard]] Status Settle();
  /// As above, without blocking. The lease may be moved, used and destroyed before `done` runs.
  void Settle(Done<void> done);
  /// Ends the lease; its charges stay taken. No call to the store unless adjusts are kept.
  [[nodiscard]] Status Commit();
  /// Ends the lease and gives back its charges. After an error it may be repeated.
  [[nodiscard]] Status Cancel();

  /// Adjusts that are in flight or kept, at most.
  static constexpr std::size_t kMaxUnsettled = 256;

 private:
  using Adjustments = std::vector<AdjustmentPtr>;

  Status CheckActive() const;
  Result<Adjustments> Plan(const Amounts& amounts);
  AdjustmentPtr Begin(std::vector<Charge> deltas);
  Status SettleAll();
  bool HasDoubts() const;
  Adjustments TakeDoubts();
  void Fold() const;
  void End();
  void Leave();

  Limiter* limiter_ = nullptr;
  mutable std::vector<Charge> charges_;
  mutable Adjustments unsettled_;  ///< in flight or kept, in their order
  int exceptions_ = 0;  ///< std::uncaught_exceptions() when it was made with something to hold
};

}  // namespace weir
