// The private types of Allowances.
#pragma once

#include <array>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/limiter/allowance/allowances.h"
#include "weir/store/bucket/charge.h"
#include "weir/telemetry/thread_number.h"

namespace weir {

/// A debit in flight.
struct Allowances::Debit {
  EntryPtr entry;
  std::vector<Charge> charges;
  Instant sent;
  Deadline deadline;
};

/// One request to an entry: the needed and the held amount of each limit, and the time.
struct Allowances::AllowanceRequest {
  AllowanceRequest(Allowance::Millis amounts, const AllowanceEntry& entry, Instant at)
      : need(std::move(amounts)), held(entry.allowance.Held(at)), now(at) {}

  Allowance::Millis need;
  Allowance::Millis held;
  Instant now;
};

/// Limits to resolve again; see Host::RenewTargets.
struct Allowances::Renewal {
  std::vector<TargetPtr> targets;
  Deadline deadline;
};

/// Actions that were determined under a lock and are done after it is released.
struct Allowances::PendingActions {
  std::vector<std::pair<CallPtr, Decision>> decided;
  std::vector<CallPtr> for_store;
  std::vector<CallPtr> outdated;
  std::optional<Renewal> renewal;  ///< set if no call waited for an outdated debit
  std::optional<Debit> debit;
  std::vector<std::pair<std::vector<Charge>, Deadline>> returns;
  EntryPtr made;

  bool nothing_for_host() const {
    return decided.empty() && for_store.empty() && outdated.empty() && !renewal;
  }
};

struct Allowances::Entries {
  std::unordered_map<TargetPtr, EntryPtr, TargetHash, TargetEqual> by_own;
};

struct alignas(kCacheLine) Allowances::Stripe {
  Mutex mutex;  ///< also guards the contents of its entries
  Entries entries WEIR_GUARDED_BY(mutex);
};

struct Allowances::Stripes {
  std::array<Stripe, 64> all;
};

}  // namespace weir
