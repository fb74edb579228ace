// The charges of an admitted request, which can be corrected until its true cost is known.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "weir/base/api.h"
#include "weir/base/done.h"
#include "weir/model/tokens.h"
#include "weir/store/bucket/charge.h"

namespace weir {

class AdjustSender;
struct Adjustment;
using AdjustmentPtr = std::shared_ptr<Adjustment>;

/// The charges of one admitted request. The destructor commits: the tokens stay taken. If an
/// exception unwinds through the scope, the destructor cancels instead, without waiting for the
/// store, unless MarkSpent was called. Calls on a lease that has ended or was moved from fail with
/// kFailedPrecondition. Movable; not thread-safe.
///
/// A lease may outlive its Limiter: its calls then fail with kFailedPrecondition and its destructor
/// sends nothing, so the charges stay taken. The Limiter must not be destroyed during a call on a
/// lease.
///
/// An adjust has one of four results:
///
///   success           It counts.
///   a definite error  It changed nothing and is dropped. The definite errors are kInvalidArgument,
///                     kNotFound, kAlreadyExists, kPermissionDenied, kResourceExhausted,
///                     kFailedPrecondition, kOutOfRange, kUnimplemented and kUnauthenticated.
///   a partial error   (Error::is_partial) It counts in some of its buckets, and never will in the
///                     others. It is dropped, and charges() assumes the case with fewer tokens in
///                     the buckets.
///   any other error   It is in doubt: it may count or not. The lease keeps it and sends it again
///                     under the same id, so it counts at most once, however often it is sent.
///
/// Settle() retries adjusts that are in doubt; another call of Adjust would be a separate adjust.
/// A further adjust, a commit and a cancel first send the kept adjusts, in order. If one of these
/// is still in doubt, its error is returned, and the further adjust is kept behind it. The
/// destructor sends the kept adjusts once more, in order, until one of them is in doubt again, and
/// does not wait for the results. An adjust that is in doubt ten minutes after it was first sent is
/// given up: it may count or not, and charges() assumes the case with fewer tokens in the buckets.
///
/// Blocking calls fail on threads that run callbacks (CallbackScope); the forms with a `done` work
/// there. Each `done` runs where those of the Limiter run (LimiterOptions::callbacks).
class WEIR_API Lease {
 public:
  /// An inactive lease, like one that was moved from.
  Lease() = default;
  /// Used by Limiter, which has taken `charges`. `sender` keeps the state of the Limiter alive.
  Lease(std::shared_ptr<AdjustSender> sender, std::vector<Charge> charges);
  // Inline, because the inactive lease of a refusal should cost nothing to move.
  Lease(Lease&& other) noexcept
      : sender_(std::move(other.sender_)),
        charges_(std::move(other.charges_)),
        unsettled_(std::move(other.unsettled_)),
        exceptions_(active() ? std::uncaught_exceptions() : 0),
        spent_(other.spent_) {}
  /// Ends this lease as the destructor does, then takes over `other`.
  Lease& operator=(Lease&& other) noexcept;
  ~Lease() {
    if (active()) EndWithoutWaiting();
  }

  /// Returns true until the lease ends or is moved from.
  bool active() const { return sender_ != nullptr; }
  /// Returns the current charges: the tokens taken by the request, plus adjusts, minus returns, in
  /// millitokens. There is one entry for each charged bucket, the entity's own first, and then one
  /// for each other bucket in which a limit that the request named blocks. Tokens that an adjust in
  /// flight or in doubt returns are already subtracted; tokens that it adds are not yet included.
  /// Valid until the next call on the lease.
  std::span<const Charge> charges() const;

  /// Declares that the work that the tokens pay for has been done, for example that a paid call was
  /// sent: from now on the destructor commits also if an exception unwinds through the scope.
  /// Adjust, Release and Cancel stay possible.
  void MarkSpent() { spent_ = true; }

  /// Takes more tokens (positive amounts) or returns tokens (negative amounts), in every charged
  /// bucket that has the limit, and blocks until the store responds. Limits that the request did
  /// not name may be adjusted too; amounts of a limit that blocks are ignored. An adjust may leave
  /// a bucket in debt; it never fails for lack of tokens. Errors: kInvalidArgument for an unknown
  /// name, a name that is given twice, or more tokens returned than the lease holds;
  /// kFailedPrecondition if kMaxUnsettled adjusts are in flight or kept; or an error of the store
  /// (see above).
  [[nodiscard]] Status Adjust(const Amounts& amounts);
  /// Like the overload above, but does not block. The lease may be moved, used and destroyed before
  /// `done` runs.
  void Adjust(const Amounts& amounts, Done<void> done);
  /// Returns tokens to the buckets: an Adjust with the signs inverted. Fails with kInvalidArgument
  /// if an amount is negative.
  [[nodiscard]] Status Release(const Amounts& amounts);
  /// Sends the kept adjusts again, in order, under their ids; adjusts in flight are not sent.
  /// Returns success if all of them count. Otherwise returns the error of the first that does not;
  /// adjusts that changed nothing are dropped. kDeadlineExceeded is also the error of an adjust
  /// that is given up.
  [[nodiscard]] Status Settle();
  /// Like the overload above, but does not block. The lease may be moved, used and destroyed before
  /// `done` runs.
  void Settle(Done<void> done);
  /// Ends the lease; its charges stay taken. Calls the store only if adjusts are kept. If one of
  /// these stays in doubt, returns its error and leaves the lease active; the call may be repeated.
  [[nodiscard]] Status Commit();
  /// Ends the lease and returns all its charges to the buckets. After an error the lease is still
  /// active; the call may be repeated.
  [[nodiscard]] Status Cancel();

  /// Maximum number of adjusts that are in flight or kept.
  static constexpr std::size_t kMaxUnsettled = 256;

 private:
  using Adjustments = std::vector<AdjustmentPtr>;

  Status CheckActive() const;
  /// Returns a Done that runs `done` on the callbacks' executor of the Limiter, if it has one.
  Done<void> OnCallbacks(Done<void> done) const;
  // Adjust and Settle; `done` runs on the thread that completes the call.
  void StartAdjust(const Amounts& amounts, Done<void> done);
  void StartSettle(Done<void> done);
  /// Returns the adjusts to send: the kept adjusts, then a new one by `amounts`. Empty if `amounts`
  /// change nothing.
  Result<Adjustments> PlanAdjust(const Amounts& amounts);
  /// Adds an adjust to unsettled_ and subtracts the tokens that it returns from charges_.
  AdjustmentPtr AddUnsettled(std::vector<Charge> deltas);
  /// Sends the kept adjusts and blocks. Returns success if no adjust is in doubt afterwards.
  Status SettleAll();
  bool HasDoubts() const;
  /// Returns the adjusts that are in doubt and marks them as in flight.
  Adjustments TakeDoubts();
  /// Applies the results of completed adjusts to charges_ and removes them from unsettled_.
  void ApplyResults() const;
  /// Makes the lease inactive, without a call to the store.
  void Deactivate();
  /// The end by destruction or assignment.
  void EndWithoutWaiting();

  std::shared_ptr<AdjustSender> sender_;  ///< null: inactive
  mutable std::vector<Charge> charges_;
  mutable Adjustments unsettled_;  ///< in flight or kept, in order
  int exceptions_ = 0;             ///< std::uncaught_exceptions() when the lease became active here
  bool spent_ = false;             ///< MarkSpent was called: an exception does not cancel
};

}  // namespace weir
