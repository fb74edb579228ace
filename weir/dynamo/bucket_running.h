// What DynamoBucketStore keeps of a request while it is under way.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "weir/dynamo/bucket_store.h"

namespace weir::dynamo {

/// What was asked, whatever becomes of it.
struct DynamoBucketStore::Request {
  std::vector<Charge> charges;
  std::optional<AdjustToken> token;
  UnixMillis now;
  Instant began;
  Deadline deadline;
  Done<Decision> done;
  int refusals = 0;  ///< by shards, of which others may pay
  int detours = 0;   ///< because the buckets are divided otherwise
  std::vector<BucketKey> gone{};
  bool in_doubt = false;
};

/// One call on shards that is under way. Its protocol takes one event at a time.
struct DynamoBucketStore::Running {
  Running(RequestPtr of, Route way, DynamoBucketStore& store)
      : request(std::move(of)),
        route(std::move(way)),
        clock(store.scheduler_.clock()),
        deadline(request->deadline),
        call(store.keys_, route.parts, store.TermsOf(*request, route)) {}

  template <class Event>
  CallStep On(Event event) {
    const MutexLock lock(mutex);
    call.SetElapsed(clock.Now() - request->began);
    return event(call);
  }

  /// Lives as long as this.
  const BucketKey& KeyOf(std::size_t part) const { return route.parts[part].target->key; }

  const RequestPtr request;
  Route route;
  const Clock& clock;
  const Deadline deadline;
  Mutex mutex;
  BucketCall call WEIR_GUARDED_BY(mutex);
};

}  // namespace weir::dynamo
