// The limits of accounts, remembered. Mechanism: docs/design/reservations.md.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "weir/base/done.h"
#include "weir/base/mutex.h"
#include "weir/base/time.h"
#include "weir/reservation/account_cache.h"
#include "weir/store/account_limits.h"
#include "weir/telemetry/counter.h"

namespace weir {

struct LimitLookupOptions {
  milliseconds ttl{60'000};        ///< 0: nothing is remembered or shared
  std::size_t capacity = 200'000;  ///< accounts
};

/// Thread-safe. The store and the clock must outlive it; destroyed only when no call is under way.
class LimitLookup {
 public:
  LimitLookup(AccountLimitStore& store, const Clock& clock, LimitLookupOptions options);
  LimitLookup(const LimitLookup&) = delete;
  LimitLookup& operator=(const LimitLookup&) = delete;

  /// The row's limit; nothing where there is no row, which is remembered as well. Believed for
  /// `ttl` from when the store was asked. An error is the store's, and is not remembered. Those who
  /// miss one account at the same time share one call, unless their deadlines differ so much that
  /// one would wait beyond its own.
  void Get(const AccountKey& key, Deadline deadline, Done<std::optional<AccountLimit>> done);

  std::uint64_t store_reads() const { return store_reads_.Value(); }

 private:
  using Limit = std::optional<AccountLimit>;
  struct Asker {
    Deadline deadline;
    Done<Limit> done;
  };
  /// One call that is under way, and those who wait for it.
  struct Fetch {
    AccountKey key;
    Deadline deadline;
    Instant started;
    std::vector<Asker> askers{};  ///< guarded by mutex_
  };
  using FetchPtr = std::shared_ptr<Fetch>;

  bool Join(const FetchPtr& fetch, Asker& asker, std::optional<Limit>& found);
  void Ask(const AccountKey& key, Asker asker);
  void Send(const FetchPtr& fetch);
  void Answered(const FetchPtr& fetch, const Result<Limit>& answer);

  AccountLimitStore& store_;
  const Clock& clock_;
  const milliseconds ttl_;
  Mutex mutex_;
  AccountCache<Limit> cache_ WEIR_GUARDED_BY(mutex_);
  std::map<AccountKey, FetchPtr> fetches_ WEIR_GUARDED_BY(mutex_);
  Counter store_reads_;
};

}  // namespace weir
