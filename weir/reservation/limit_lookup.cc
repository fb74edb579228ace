#include "weir/reservation/limit_lookup.h"

#include <utility>

#include "weir/runtime/later.h"

namespace weir {

LimitLookup::LimitLookup(AccountLimitStore& store, const Clock& clock, LimitLookupOptions options)
    : store_(store), clock_(clock), ttl_(options.ttl), cache_(options.capacity) {}

void LimitLookup::Get(const AccountKey& key, Deadline deadline,
                      Done<std::optional<AccountLimit>> done) {
  Ask(key, {deadline, std::move(done)});
}

void LimitLookup::Ask(const AccountKey& key, Asker asker) {
  const auto fetch = std::make_shared<Fetch>(
      Fetch{.key = key, .deadline = asker.deadline, .started = clock_.Now()});
  std::optional<Limit> found;
  if (Join(fetch, asker, found)) return;
  if (found) return asker.done(*found);
  Send(fetch);
}

bool LimitLookup::Join(const FetchPtr& fetch, Asker& asker, std::optional<Limit>& found) {
  const MutexLock lock(mutex_);
  if (const Limit* limit = cache_.Find(fetch->key, fetch->started)) {
    found = *limit;
    return false;
  }
  const auto other = ttl_ > milliseconds(0) ? fetches_.find(fetch->key) : fetches_.end();
  // A fetch with a later deadline may outlast this caller.
  if (other != fetches_.end() && other->second->deadline <= asker.deadline) {
    other->second->askers.push_back(std::move(asker));
    return true;
  }
  fetch->askers.push_back(std::move(asker));
  if (ttl_ > milliseconds(0)) fetches_.insert_or_assign(fetch->key, fetch);
  return false;
}

void LimitLookup::Send(const FetchPtr& fetch) {
  store_reads_.Add();
  store_.Get(fetch->key, fetch->deadline,
             [this, fetch](const Result<std::optional<AccountLimitRow>>& row) {
               Answered(fetch, row.map([](const std::optional<AccountLimitRow>& there) {
                 return there ? Limit(there->limit) : Limit();
               }));
             });
}

void LimitLookup::Answered(const FetchPtr& fetch, const Result<Limit>& answer) {
  std::vector<Asker> askers;
  {
    const MutexLock lock(mutex_);
    const auto at = fetches_.find(fetch->key);
    if (at != fetches_.end() && at->second == fetch) fetches_.erase(at);
    askers.swap(fetch->askers);
    // The time to live counts from the start of the call: the data may be as old as that.
    if (answer && ttl_ > milliseconds(0)) {
      cache_.Put(fetch->key, *answer, Later(fetch->started, ttl_));
    }
  }
  for (Asker& asker : askers) {
    const bool ran_out = !answer && answer.error().code == Code::kDeadlineExceeded;
    if (ran_out && fetch->deadline < asker.deadline) {
      Ask(fetch->key, std::move(asker));
    } else {
      asker.done(answer);
    }
  }
}

}  // namespace weir
