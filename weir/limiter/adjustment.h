// One correction of a lease on its way to the store.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "weir/base/done.h"
#include "weir/store/bucket_store.h"

namespace weir {

/// Shared by the lease and by the run that sends it, which may be answered on another thread.
struct Adjustment {
  enum class State {
    kUnsettled,  ///< it belongs to a run: not sent yet, or in flight
    kDoubt,  ///< no answer says whether it counts, or it was not sent; sent again, it counts once
    kCounts,
    kRefused,  ///< it changed nothing and never will
    kGivenUp,  ///< in doubt for so long that it could count twice if it was sent again
  };

  Adjustment(std::vector<Charge> by, AdjustId name) : deltas(std::move(by)), token(name) {}

  const std::vector<Charge> deltas;
  const AdjustId token;
  std::atomic<State> state = State::kUnsettled;
  // Of the run, while kUnsettled.
  std::optional<UnixMillis> first_sent{};  ///< bucket time
  bool may_count = false;                  ///< an answer left it open
};

/// A store counts an adjust that is sent again within this time once (AdjustId).
inline constexpr milliseconds kTokenMemory{600'000};

using AdjustmentPtr = std::shared_ptr<Adjustment>;

/// Adjusts that are sent one after the other, each when the one before is settled.
struct AdjustRun {
  std::vector<AdjustmentPtr> unsent;
  /// Gets the answer of the last, or of the first that stays in doubt, after which none is sent.
  Done<void> done;
  bool settles = false;  ///< instead: the first error of all
  Status first_error{};
};

/// What the answer to an adjust says about it. `may_count`: an earlier answer left it open; that
/// the caller is refused now says nothing about the earlier request.
Adjustment::State StateAfter(const Status& answer, bool may_count = false);

}  // namespace weir
