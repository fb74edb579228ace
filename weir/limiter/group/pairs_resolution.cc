#include "weir/limiter/group/pairs_resolution.h"

#include <atomic>
#include <memory>
#include <utility>

namespace weir {
namespace {

// The reads in flight. Each read writes to an index of its own, so no lock is needed. If the store
// drops a read, `done` is not called, but destroyed with the last reference.
struct PairsInFlight {
  PairResults pairs;
  std::move_only_function<void(PairResults)> done;
  std::atomic<std::size_t> left;  ///< pending reads, plus one for the loop that starts them

  void EndOne() {
    if (left.fetch_sub(1, std::memory_order_acq_rel) == 1) done(std::move(pairs));
  }
};

}  // namespace

void ResolvePairs(Resolver& resolver, PairResults pairs, PairReads reads, Deadline deadline,
                  std::move_only_function<void(PairResults)> done) {
  const std::size_t count = pairs.size();
  const auto state = std::make_shared<PairsInFlight>(std::move(pairs), std::move(done), count + 1);
  for (std::size_t i = 0; i < count; ++i) {
    PairResult& pair = state->pairs[i];
    Done<ResolvedPtr> on_resolved = [state, i](Result<ResolvedPtr> found) {
      state->pairs[i].found = std::move(found);
      state->EndOne();
    };
    if (reads == PairReads::kCached) {
      resolver.Resolve(pair.entity, pair.resource, deadline, std::move(on_resolved));
    } else {
      resolver.Renew(pair.entity, pair.resource, deadline, std::move(on_resolved));
    }
  }
  state->EndOne();
}

}  // namespace weir
