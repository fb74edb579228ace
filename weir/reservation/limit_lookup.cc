#include "weir/reservation/limit_lookup.h"

#include <utility>

#include "weir/runtime/add_saturated.h"

namespace weir {

LimitLookup::LimitLookup(AccountLimitStore& store, const Clock& clock, LimitLookupOptions options)
    : store_(store), clock_(clock), ttl_(options.ttl), cache_(options.capacity) {}

void LimitLookup::Get(const AccountKey& key, Deadline deadline,
                      Done<std::optional<AccountLimit>> done) {
  JoinOrFetch(key, {deadline, std::move(done)});
}

void LimitLookup::JoinOrFetch(const AccountKey& key, Waiter waiter) {
  const auto fetch = std::make_shared<Fetch>(
      Fetch{.key = key, .deadline = waiter.deadline, .started = clock_.Now()});
  std::optional<Limit> found;
  if (JoinFetch(fetch, waiter, found)) return;
  if (found) return waiter.done(*found);
  SendFetch(fetch);
}

bool LimitLookup::JoinFetch(const FetchPtr& fetch, Waiter& waiter, std::optional<Limit>& found) {
  const MutexLock lock(mutex_);
  if (const Limit* limit = cache_.Find(fetch->key, fetch->started)) {
    found = *limit;
    return false;
  }
  const auto other = ttl_ > milliseconds(0) ? fetches_.find(fetch->key) : fetches_.end();
  // A fetch with a later deadline may outlast this caller.
  if (other != fetches_.end() && other->second->deadline <= waiter.deadline) {
    other->second->waiters.push_back(std::move(waiter));
    return true;
  }
  fetch->waiters.push_back(std::move(waiter));
  if (ttl_ > milliseconds(0)) fetches_.insert_or_assign(fetch->key, fetch);
  return false;
}

void LimitLookup::SendFetch(const FetchPtr& fetch) {
  store_reads_.Add();
  store_.Get(fetch->key, fetch->deadline,
             [this, fetch](const Result<std::optional<AccountLimitRow>>& row) {
               OnFetchResult(fetch, row.map([](const std::optional<AccountLimitRow>& found) {
                 return found ? Limit(found->limit) : Limit();
               }));
             });
}

void LimitLookup::OnFetchResult(const FetchPtr& fetch, const Result<Limit>& result) {
  std::vector<Waiter> waiters;
  {
    const MutexLock lock(mutex_);
    const auto at = fetches_.find(fetch->key);
    if (at != fetches_.end() && at->second == fetch) fetches_.erase(at);
    waiters.swap(fetch->waiters);
    // The time to live counts from the start of the call: the data may be as old as that.
    if (result && ttl_ > milliseconds(0)) {
      cache_.Put(fetch->key, *result, AddSaturated(fetch->started, ttl_));
    }
  }
  for (Waiter& waiter : waiters) {
    const bool ran_out = !result && result.error().code == Code::kDeadlineExceeded;
    if (ran_out && fetch->deadline < waiter.deadline) {
      JoinOrFetch(fetch->key, std::move(waiter));
    } else {
      waiter.done(result);
    }
  }
}

}  // namespace weir
