// The parts of a bucket's actor: pending, or carried by its writes.
#pragma once

#include <absl/numeric/int128.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "weir/zae_table/actor/bucket_part.h"

namespace weir::dynamo {

/// The parts in the order in which they were accepted, and the sum that they may use of each limit.
/// Not thread-safe.
class PartQueue {
 public:
  void Add(Part part);
  /// Removes the part and returns it. REQUIRES: it is here.
  Part Remove(PartId part);
  Part* Find(PartId part);
  const Part* Find(PartId part) const;
  /// Returns the pending adjust with this id, which is not a repetition itself; 0 if there is
  /// none.
  PartId FindAdjust(AdjustId adjust_id) const;

  bool HasLook() const { return looks_ > 0; }
  /// Returns true if the queue has a part that must be written whether or not its caller waits, or
  /// that stores limits.
  bool HasOwed() const { return owed_ > 0; }
  /// Returns the first look; null if there is none.
  const Part* FindLook() const;
  /// Returns the repetitions of this adjust.
  std::vector<Part> RepeatsOf(PartId adjust) const;

  /// Returns, for each limit of the target, the sum of the takes and debits of all parts, at most
  /// kMaxDebt. Pending returns and repetitions do not count.
  LimitAmounts UsedOf(const Target& target) const;

  std::vector<Part>& all() { return parts_; }
  const std::vector<Part>& all() const { return parts_; }
  std::size_t size() const { return parts_.size(); }
  bool is_empty() const { return parts_.empty(); }

 private:
  // Updates the counters for a part that is added (`sign` 1) or removed (-1).
  void Count(const Part& part, std::int64_t sign);

  std::vector<Part> parts_;  // ascending by id
  std::size_t looks_ = 0;
  std::size_t owed_ = 0;
  std::size_t repeats_in_queue_ = 0;
  std::map<std::string, absl::int128, std::less<>> used_;  // keyed by limit; no entry is 0
};

}  // namespace weir::dynamo
