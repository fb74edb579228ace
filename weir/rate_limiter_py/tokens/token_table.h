// TokenStore on rate-limiter-py's table of fungible tokens.
//
// rate-limiter-py's clients and ours may take from one bucket at the same time, and each sees the
// other's takes. The decisions of our clients are exact. rate-limiter-py's published release
// refills the whole limit with each take (it reads an attribute that no client writes), so no bound
// holds while that release is in use.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "weir/base/mutex.h"
#include "weir/base/rng.h"
#include "weir/dynamodb/table.h"
#include "weir/rate_limiter_py/tokens/token_images.h"
#include "weir/rate_limiter_py/tokens/token_take.h"
#include "weir/store/reservation/token_store.h"

namespace weir::rate_limiter_py {

struct TokenTableOptions {
  std::size_t remembered_images = 10'000;
  std::uint64_t seed = 0;  ///< the seed of the ids of takes; must differ between processes
};

/// Contract: store/reservation/token_store.h. A take costs one write, a refusal mostly none
/// (token_take.h). Returns kAborted after twenty conflicts with other writers; then nothing was
/// taken.
///
/// The time is the caller's. A bucket's time never moves backwards: a caller whose clock is behind
/// gets the available tokens, and no refill until its clock has passed the bucket's time. So in [s,
/// t] at most limit + rate * (t - s + d) are admitted, where d is the largest difference of two
/// clocks. Clients on hosts whose local time is not UTC write a time that is wrong by the offset;
/// this offset is a part of d.
///
/// Thread-safe. `table` has the layout of tables.h and must outlive this object and every call.
class TokenTable final : public TokenStore {
 public:
  explicit TokenTable(dynamo::Table& table, const TokenTableOptions& options = {});

  void Take(const AccountKey& key, const AccountLimit& limit, std::int64_t count, UnixMillis now,
            Deadline deadline, Done<TokenResult> done) override;

 private:
  struct Running;

  std::string NewTake() WEIR_EXCLUDES(rng_mutex_);
  void FollowStep(std::unique_ptr<Running> running, TakeStep step);

  dynamo::Table& table_;
  TokenImages images_;
  Mutex rng_mutex_;
  Rng rng_ WEIR_GUARDED_BY(rng_mutex_);
};

}  // namespace weir::rate_limiter_py
