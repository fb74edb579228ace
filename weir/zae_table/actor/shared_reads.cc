#include "weir/zae_table/actor/shared_reads.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace weir::dynamo {

SharedReads::Share SharedReads::JoinRead(const std::vector<BucketKey>& buckets, Deadline deadline,
                                         Done<Records>& done) {
  const MutexLock lock(mutex_);
  const auto [flight, is_first] = flights_.try_emplace(buckets, Flight{.deadline = deadline});
  if (deadline < flight->second.deadline) return Share::kAlone;
  flight->second.callers.push_back({deadline, std::move(done)});
  return is_first ? Share::kFirst : Share::kShared;
}

std::vector<SharedReads::Caller> SharedReads::End(const std::vector<BucketKey>& buckets,
                                                  const Result<Records>& records) {
  Flight ended;
  {
    const MutexLock lock(mutex_);
    auto flight = flights_.extract(buckets);
    if (flight) ended = std::move(flight.mapped());
  }
  const bool was_late = !records && records.error().code == Code::kDeadlineExceeded;
  const auto completed = std::ranges::partition(ended.callers, [&](const Caller& caller) {
    return was_late && caller.deadline > ended.deadline;
  });
  std::vector<Caller> read_again(std::move_iterator(ended.callers.begin()),
                                 std::move_iterator(completed.begin()));
  for (Caller& caller : completed) caller.done(records);
  return read_again;
}

}  // namespace weir::dynamo
