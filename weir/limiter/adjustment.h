// One adjust of a lease or of Limiter::Debit, from the call to the store's result. It has one id
// however often it is sent, so it counts at most once.
//
//   kUnsettled --+--> kCounts, kRefused, kGivenUp: final; Lease::ApplyResults removes it
//       ^        +--> kDoubt: no definite result, or not sent
//       |                |
//       +----------------+ Lease::TakeDoubts, Debits::Send
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "weir/base/done.h"
#include "weir/store/bucket/bucket_store.h"

namespace weir {

/// Shared by the lease and by the run that sends it, which may complete on another thread.
struct Adjustment {
  enum class State {
    kUnsettled,  ///< it belongs to a run: not sent yet, or in flight
    kDoubt,      ///< no result says whether it counts, or it was not sent; it may be sent again
    kCounts,
    kRefused,  ///< it changed nothing and never will
    /// It is not known what counts: it was in doubt for kAdjustIdLifetime, and could count twice if
    /// it was sent again; or it counts in some of its buckets, and never will in the others.
    kGivenUp,
  };

  Adjustment(std::vector<Charge> charges, const AdjustTerms& adjust_terms)
      : deltas(std::move(charges)), terms(adjust_terms) {}

  const std::vector<Charge> deltas;
  const AdjustTerms terms;
  std::atomic<State> state = State::kUnsettled;
  // Accessed by the run only, while the state is kUnsettled.
  std::optional<UnixMillis> first_sent{};  ///< bucket time
  bool may_count = false;                  ///< an earlier result left open whether it counts
};

/// Within this time after the first request, a store counts a repeated adjust once (AdjustId).
inline constexpr milliseconds kAdjustIdLifetime{600'000};

using AdjustmentPtr = std::shared_ptr<Adjustment>;

/// Adjusts that are sent one after the other, each when the previous one has its result.
struct AdjustRun {
  std::vector<AdjustmentPtr> unsent;
  /// Gets the result of the last adjust, or of the first that is in doubt; the adjusts after that
  /// one are not sent.
  Done<void> done;
  bool settles = false;  ///< `done` gets the first error instead
  Status first_error{};
  Deadline deadline = Deadline::Never();  ///< of each send, if it is before the usual timeout
};

/// Returns the state of an adjust after this result. `may_count`: an earlier result left open
/// whether it counts. kPermissionDenied and kUnauthenticated then say nothing about the earlier
/// request.
Adjustment::State StateAfter(const Status& result, bool may_count = false);

}  // namespace weir
