#include "weir/store/coalescing.h"

#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <utility>

#include "weir/base/mutex.h"
#include "weir/store/joint_request.h"

namespace weir {
namespace {

// What is under way, or waits, keeps its targets alive, and with them these addresses.
using TargetList = absl::InlinedVector<const Target*, 2>;

TargetList TargetsOf(std::span<const Charge> charges) {
  TargetList targets;
  for (const Charge& charge : charges) targets.push_back(charge.target.get());
  return targets;
}

bool MayBeOfTheStore(Code code) {
  return code == Code::kDeadlineExceeded || code == Code::kUnavailable;
}

}  // namespace

/// Shared with what is under way: an answer may be the last one, and the store be gone after it.
class CoalescingBucketStore::Joins : public std::enable_shared_from_this<Joins> {
 public:
  Joins(BucketStore& inner, Scheduler& scheduler) : inner_(inner), scheduler_(scheduler) {}

  void Come(JointPart part) {
    const TargetList targets = TargetsOf(part.charges);
    {
      const MutexLock lock(mutex_);
      queues_[targets].requests.Add(std::move(part));
    }
    Pump(targets);
  }

 private:
  struct Queue {
    JoinQueue requests;
    bool is_pumped = false;  // by one thread at a time
    bool has_alarm = false;
  };

  void Pump(const TargetList& targets);
  JointParts Next(const TargetList& targets, bool begins);
  void SetAlarm(const TargetList& targets, Queue& queue) WEIR_REQUIRES(mutex_);
  void Alarm(const TargetList& targets);
  void Ask(const TargetList& targets, JointParts parts);
  void Answered(const TargetList& targets, JointParts parts, Result<Decision> answer);
  void Tell(JointParts& parts, Result<Decision> answer);
  void Failed(JointParts& parts, const Error& error);
  void AskAlone(JointPart& part);

  BucketStore& inner_;
  Scheduler& scheduler_;
  Mutex mutex_;
  absl::flat_hash_map<TargetList, Queue> queues_ WEIR_GUARDED_BY(mutex_);
};

// A loop, not a recursion: a store may answer before its call returns, as often as requests wait.
void CoalescingBucketStore::Joins::Pump(const TargetList& targets) {
  JointParts parts = Next(targets, true);
  while (!parts.empty()) {
    Ask(targets, std::move(parts));
    parts = Next(targets, false);
  }
}

// Where nothing waits and nothing is under way, store and scheduler may be gone.
JointParts CoalescingBucketStore::Joins::Next(const TargetList& targets, bool begins) {
  const MutexLock lock(mutex_);
  const auto found = queues_.find(targets);
  if (found == queues_.end()) return {};
  Queue& queue = found->second;
  if (begins && queue.is_pumped) return {};
  if (queue.requests.IsIdle()) {
    queues_.erase(found);
    return {};
  }
  JointParts parts = queue.requests.Next(scheduler_.clock().Now());
  queue.is_pumped = !parts.empty();
  if (!queue.is_pumped) SetAlarm(targets, queue);
  return parts;
}

// Under the lock, so that what waits is not answered meanwhile.
void CoalescingBucketStore::Joins::SetAlarm(const TargetList& targets, Queue& queue) {
  const Deadline at = queue.requests.Overdue();
  if (queue.has_alarm || at.is_never()) return;
  queue.has_alarm = true;
  scheduler_.At(at.at(), [weak = weak_from_this(), targets] {
    if (const auto self = weak.lock()) self->Alarm(targets);
  });
}

void CoalescingBucketStore::Joins::Alarm(const TargetList& targets) {
  {
    const MutexLock lock(mutex_);
    const auto found = queues_.find(targets);
    if (found == queues_.end()) return;
    found->second.has_alarm = false;
  }
  Pump(targets);
}

void CoalescingBucketStore::Joins::Ask(const TargetList& targets, JointParts parts) {
  const JointRequest joint = Join(parts);
  inner_.Acquire(joint.charges, joint.now, joint.deadline,
                 [self = shared_from_this(), targets,
                  parts = std::move(parts)](Result<Decision> answer) mutable {
                   self->Answered(targets, std::move(parts), std::move(answer));
                 });
}

// Those that ask again when they are told, or meanwhile, all go with the next ones. These keep the
// store alive, if there are any; if not, with the last answer it may go.
void CoalescingBucketStore::Joins::Answered(const TargetList& targets, JointParts parts,
                                            Result<Decision> answer) {
  const bool refused = answer && !answer->admitted && !answer->contended && parts.size() > 1;
  const std::size_t payable = refused ? CountPayable(*answer, parts) : 0;
  if (refused && answer->maybe_charged_twice) {
    for (JointPart& part : parts) part.in_doubt = true;
  }
  if (!refused) Tell(parts, std::move(answer));
  {
    const MutexLock lock(mutex_);
    JoinQueue& requests = queues_.find(targets)->second.requests;
    refused ? requests.Refused(std::move(parts), payable) : requests.Landed();
  }
  Pump(targets);
}

void CoalescingBucketStore::Joins::Tell(JointParts& parts, Result<Decision> answer) {
  if (!answer) return Failed(parts, answer.error());
  std::vector<Decision> decisions;
  if (parts.size() == 1) {
    decisions.push_back(*std::move(answer));
  } else {
    decisions = Divide(*answer, parts);
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    decisions[i].maybe_charged_twice |= parts[i].in_doubt;
    parts[i].done(std::move(decisions[i]));
  }
}

// Who joined one with less time is not to lose by it. These are asked first: with the last answer
// the store may go.
void CoalescingBucketStore::Joins::Failed(JointParts& parts, const Error& error) {
  const Deadline until = std::ranges::min_element(parts, {}, &JointPart::deadline)->deadline;
  const auto ends = std::ranges::partition(parts, [&](const JointPart& part) {
    return MayBeOfTheStore(error.code) && part.deadline.at() - until.at() > JoinQueue::kLongestWait;
  });
  for (auto part = parts.begin(); part != ends.begin(); ++part) AskAlone(*part);
  for (JointPart& part : ends) part.done(Fail(error));
}

// What failed may have been charged.
void CoalescingBucketStore::Joins::AskAlone(JointPart& part) {
  const auto waited =
      std::chrono::duration_cast<milliseconds>(scheduler_.clock().Now() - part.came);
  inner_.Acquire(part.charges, part.now + waited, part.deadline,
                 [done = std::move(part.done)](Result<Decision> answer) mutable {
                   if (answer) answer->maybe_charged_twice = true;
                   done(std::move(answer));
                 });
}

CoalescingBucketStore::CoalescingBucketStore(BucketStore& inner, Scheduler& scheduler)
    : inner_(inner), scheduler_(scheduler), joins_(std::make_shared<Joins>(inner, scheduler)) {}

CoalescingBucketStore::~CoalescingBucketStore() = default;

void CoalescingBucketStore::Acquire(std::span<const Charge> charges, UnixMillis now,
                                    Deadline deadline, Done<Decision> done) {
  if (const Status valid = CheckAcquire(charges); !valid) return done(Fail(valid.error()));
  const Instant came = scheduler_.clock().Now();
  // Too little time to share: it must not be what ends the others.
  if (deadline.Left(came) <= 2 * JoinQueue::kLongestWait) {
    return inner_.Acquire(charges, now, deadline, std::move(done));
  }
  const std::shared_ptr<Joins> kept = joins_;  // `done` may run before this returns
  kept->Come({.charges = {charges.begin(), charges.end()},
              .now = now,
              .deadline = deadline,
              .done = std::move(done),
              .came = came});
}

void CoalescingBucketStore::Adjust(std::span<const Charge> charges, AdjustToken token,
                                   UnixMillis now, Deadline deadline, Done<void> done) {
  inner_.Adjust(charges, token, now, deadline, std::move(done));
}

void CoalescingBucketStore::Read(std::span<const BucketKey> keys, Deadline deadline,
                                 Done<std::vector<std::optional<BucketRecord>>> done) {
  inner_.Read(keys, deadline, std::move(done));
}

void CoalescingBucketStore::ReadRecent(std::span<const BucketKey> keys, Deadline deadline,
                                       Done<std::vector<std::optional<BucketRecord>>> done) {
  inner_.ReadRecent(keys, deadline, std::move(done));
}

void CoalescingBucketStore::List(const BucketFilter& filter, const PageRequest& page,
                                 Deadline deadline, Done<Page<BucketRecord>> done) {
  inner_.List(filter, page, deadline, std::move(done));
}

}  // namespace weir
