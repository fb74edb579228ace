#include "weir/zae_table/actor/shared_reads.h"

#include <utility>

namespace weir::dynamo {

SharedReads::Share SharedReads::JoinRead(const std::vector<BucketKey>& buckets, Deadline deadline,
                                         Done<Records>& done) {
  const MutexLock lock(mutex_);
  const auto [flight, is_first] = flights_.try_emplace(buckets, Flight{.deadline = deadline});
  if (deadline < flight->second.deadline) return Share::kAlone;
  flight->second.callers.push_back(std::move(done));
  return is_first ? Share::kFirst : Share::kShared;
}

void SharedReads::End(const std::vector<BucketKey>& buckets, const Result<Records>& records) {
  std::vector<Done<Records>> callers;
  {
    const MutexLock lock(mutex_);
    auto flight = flights_.extract(buckets);
    if (flight) callers = std::move(flight.mapped().callers);
  }
  for (Done<Records>& done : callers) done(records);
}

}  // namespace weir::dynamo
