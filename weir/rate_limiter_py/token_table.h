// TokenStore on rate-limiter-py's table of fungible tokens.
//
// Its clients and ours may take from one bucket at the same time, and each sees what the other
// left. What ours admit is exact; its published release gives a whole limit back with each take
// (it reads an attribute that nobody writes), and no bound holds while it is in use.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "weir/base/mutex.h"
#include "weir/base/rng.h"
#include "weir/dynamo/table.h"
#include "weir/rate_limiter_py/token_images.h"
#include "weir/rate_limiter_py/token_take.h"
#include "weir/store/token_store.h"

namespace weir::rate_limiter_py {

struct TokenTableOptions {
  std::size_t remembered_images = 10'000;
  std::uint64_t seed = 0;  ///< by it takes are told apart: must differ between processes
};

/// Contract: store/token_store.h. One write for a take and, mostly, none for a refusal
/// (token_take.h); kAborted where twenty writes were lost against others: nothing was taken.
///
/// Time is the caller's. A bucket's time never moves backwards: a caller whose clock is behind gets
/// what is there, and no refill until his clock is past it. So what is admitted in [s, t] is at
/// most limit + rate * (t - s + d), d being the largest difference of two clocks. Clients on hosts
/// whose local time is not UTC write a time that is wrong by the offset: it counts into d.
///
/// Thread-safe. `table` has the layout of tables.h and must outlive it and every call.
class TokenTable final : public TokenStore {
 public:
  explicit TokenTable(dynamo::Table& table, const TokenTableOptions& options = {});

  void Take(const AccountKey& key, const AccountLimit& limit, std::int64_t count, UnixMillis now,
            Deadline deadline, Done<TokenAnswer> done) override;

 private:
  struct Running;

  std::string NewTake() WEIR_EXCLUDES(rng_mutex_);
  void Follow(std::unique_ptr<Running> running, TakeStep step);

  dynamo::Table& table_;
  TokenImages images_;
  Mutex rng_mutex_;
  Rng rng_ WEIR_GUARDED_BY(rng_mutex_);
};

}  // namespace weir::rate_limiter_py
