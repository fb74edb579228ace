// Requests for the same buckets, asked of a store as one, and its answer in their parts.
#pragma once

#include <deque>
#include <vector>

#include "weir/base/done.h"
#include "weir/base/time.h"
#include "weir/runtime/deadline.h"
#include "weir/store/charge.h"

namespace weir {

/// One of several requests whose charges have the same targets, in the same order.
struct JointPart {
  std::vector<Charge> charges;
  UnixMillis now;
  Deadline deadline;
  Done<Decision> done;
  Instant came;           ///< when it was asked
  bool in_doubt = false;  ///< a joint request with it was refused, and may have been charged
};
using JointParts = std::vector<JointPart>;

/// What is asked for all of them: the sums, at the latest time, by the earliest deadline.
struct JointRequest {
  std::vector<Charge> charges;
  UnixMillis now;
  Deadline deadline;
};
JointRequest Join(const JointParts& parts);

/// What an admitted answer to all of them says to each: as if they had been asked one after the
/// other, at one instant.
std::vector<Decision> Divide(const Decision& joint, const JointParts& parts);

/// How many of them, from the first on, what a refusal found there would have paid for.
std::size_t CountPayable(const Decision& refusal, const JointParts& parts);

/// Requests for the same targets of which some are under way. Together go at most kMostParts, and
/// of no limit more than an eighth of its capacity: a joint request stays small against what a
/// bucket holds, so that it is seldom refused as a whole, and one shard of a few can pay it.
class JoinQueue {
 public:
  static constexpr std::size_t kMostParts = 256;
  static constexpr std::int64_t kShareOfCapacity = 8;
  /// Who waited so long goes, whatever is under way.
  static constexpr milliseconds kLongestWait{5};

  void Add(JointPart part) { waiting_.push_back(std::move(part)); }
  /// Those that are to be asked now, as one, until they have Landed: the first ones if nothing is
  /// under way, or if the first of them is overdue. Empty: nothing is to be asked now.
  JointParts Next(Instant now);
  void Landed() { --under_way_; }
  /// Instead of Landed, for parts that were refused as a whole: they are the next ones again, and
  /// `payable` of them (CountPayable) go first.
  void Refused(JointParts parts, std::size_t payable);

  bool IsIdle() const { return waiting_.empty() && under_way_ == 0; }
  /// When the first of those that wait goes at the latest; never where none waits.
  Deadline Overdue() const;

 private:
  std::size_t CountJoinable() const;

  std::deque<JointPart> waiting_;
  std::size_t most_ = kMostParts;  // of the next ones
  int under_way_ = 0;
};

}  // namespace weir
