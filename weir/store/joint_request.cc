#include "weir/store/joint_request.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace weir {
namespace {

void AddAmounts(std::vector<Charge>& sum, const std::vector<Charge>& charges) {
  for (std::size_t i = 0; i < sum.size(); ++i) {
    for (std::size_t j = 0; j < sum[i].amounts.size(); ++j) {
      sum[i].amounts[j] += charges[i].amounts[j];
    }
  }
}

bool IsSmall(const Charge& charge) {
  for (std::size_t i = 0; i < charge.amounts.size(); ++i) {
    const std::int64_t capacity = charge.target->limits[i].quota.capacity;
    if (charge.amounts[i] > capacity / JoinQueue::kShareOfCapacity) return false;
  }
  return true;
}

/// The statuses of a decision beside what one request asks of each of these limits.
template <class Visit>
void ForEachLimit(std::vector<LimitStatus>& statuses, const std::vector<Charge>& charges,
                  Visit visit) {
  auto status = statuses.begin();
  for (const Charge& charge : charges) {
    for (const std::int64_t amount : charge.amounts) {
      if (status != statuses.end()) visit(*status++, amount);
    }
  }
}

}  // namespace

JointRequest Join(const JointParts& parts) {
  JointRequest joint{parts[0].charges, parts[0].now, parts[0].deadline};
  for (std::size_t i = 1; i < parts.size(); ++i) {
    AddAmounts(joint.charges, parts[i].charges);
    joint.now = std::max(joint.now, parts[i].now);
    joint.deadline = std::min(joint.deadline, parts[i].deadline);
  }
  return joint;
}

std::vector<Decision> Divide(const Decision& joint, const JointParts& parts) {
  std::vector<Decision> decisions;
  decisions.reserve(parts.size());
  Decision next = joint;
  for (const JointPart& part : parts) {
    ForEachLimit(next.limits, part.charges,
                 [](LimitStatus& status, std::int64_t amount) { status.requested = amount; });
    decisions.push_back(next);
    ForEachLimit(next.limits, part.charges,
                 [](LimitStatus& status, std::int64_t amount) { status.available -= amount; });
  }
  return decisions;
}

std::size_t CountPayable(const Decision& refusal, const JointParts& parts) {
  std::vector<LimitStatus> left = refusal.limits;
  std::size_t count = 0;
  for (const JointPart& part : parts) {
    bool pays = true;
    ForEachLimit(left, part.charges, [&](LimitStatus& status, std::int64_t amount) {
      pays = pays && (amount == 0 || status.available >= amount);
      status.available -= amount;
    });
    if (!pays) break;
    ++count;
  }
  return count;
}

std::size_t JoinQueue::CountJoinable() const {
  std::vector<Charge> sum = waiting_.front().charges;
  std::size_t count = 1;
  for (; count < std::min(waiting_.size(), most_); ++count) {
    AddAmounts(sum, waiting_[count].charges);
    if (!std::ranges::all_of(sum, IsSmall)) break;
  }
  return count;
}

JointParts JoinQueue::Next(Instant now) {
  if (waiting_.empty() || (under_way_ > 0 && !Overdue().ExpiredAt(now))) return {};
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(CountJoinable());
  JointParts parts(std::move_iterator(waiting_.begin()), std::move_iterator(end));
  waiting_.erase(waiting_.begin(), end);
  most_ = kMostParts;
  ++under_way_;
  return parts;
}

void JoinQueue::Refused(JointParts parts, std::size_t payable) {
  --under_way_;
  // All of them, and refused yet: what is there is divided. Half of them is asked, in the end one.
  most_ = std::max<std::size_t>(payable < parts.size() ? payable : parts.size() / 2, 1);
  waiting_.insert(waiting_.begin(), std::move_iterator(parts.begin()),
                  std::move_iterator(parts.end()));
}

Deadline JoinQueue::Overdue() const {
  return waiting_.empty() ? Deadline::Never() : Deadline::At(waiting_.front().came + kLongestWait);
}

}  // namespace weir
