#include "weir/rate_limiter_py/tokens/token_table.h"

#include <fmt/format.h>

#include <utility>

#include "weir/rate_limiter_py/tables.h"
#include "weir/store/reservation/reservation_checks.h"

namespace weir::rate_limiter_py {

/// A pending take. It is owned by the callback of its next event.
struct TokenTable::Running {
  TokenTake take;
  Deadline deadline;
  Done<TokenResult> done;
};

TokenTable::TokenTable(dynamo::Table& table, const TokenTableOptions& options)
    : table_(table), images_(options.remembered_images), rng_(options.seed) {}

std::string TokenTable::NewTake() {
  const MutexLock lock(rng_mutex_);
  const std::uint64_t high = rng_.Next();
  return fmt::format("{:016x}{:016x}", high, rng_.Next());
}

void TokenTable::Take(const AccountKey& key, const AccountLimit& limit, std::int64_t count,
                      UnixMillis now, Deadline deadline, Done<TokenResult> done) {
  if (Status valid = CheckTake(key, limit, count); !valid) {
    return done(Fail(std::move(valid.error())));
  }
  TokenRequest request{.key = key, .limit = limit, .count = count, .now = now, .take = NewTake()};
  auto running =
      std::make_unique<Running>(Running{TokenTake(std::move(request)), deadline, std::move(done)});
  TakeStep step = running->take.Begin(images_.Find(key));
  FollowStep(std::move(running), std::move(step));
}

void TokenTable::FollowStep(std::unique_ptr<Running> running, TakeStep step) {
  Running& call = *running;
  const AccountKey& key = call.take.request().key;
  if (step.forget) images_.Forget(key);
  if (step.learned) images_.Put(key, *step.learned, step.is_newest);
  if (step.result) return call.done(*std::move(step.result));
  if (step.read) {
    return table_.Get(TableKeyOf(key), call.deadline,
                      [this, running = std::move(running)](auto item) mutable {
                        TakeStep next = running->take.OnRead(std::move(item));
                        FollowStep(std::move(running), std::move(next));
                      });
  }
  table_.Apply(*step.write, false, call.deadline,
               [this, running = std::move(running)](auto outcome) mutable {
                 TakeStep next = running->take.OnWrite(std::move(outcome));
                 FollowStep(std::move(running), std::move(next));
               });
}

}  // namespace weir::rate_limiter_py
