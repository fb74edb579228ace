// The parts that wait in a bucket's actor, or are carried by its writes.
#pragma once

#include <absl/numeric/int128.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "weir/dynamo/bucket_part.h"

namespace weir::dynamo {

/// In the order in which they were accepted. Knows the sum of what they may use of each limit. Not
/// thread-safe.
class PartQueue {
 public:
  void Add(Part part);
  /// The part leaves.
  Part Take(PartId part);
  Part* Find(PartId part);
  const Part* Find(PartId part) const;
  /// A pending adjust with this token; 0: none.
  PartId FindAdjust(AdjustId token) const;

  bool HasLook() const { return looks_ > 0; }
  /// The first look; null: none.
  const Part* FindLook() const;
  /// Repetitions of this adjust.
  std::vector<Part> TwinsOf(PartId adjust) const;

  /// What all parts together may use of each limit of the target, at most kMaxDebt: takes and
  /// debits. Returns do not count until they are stored.
  LimitAmounts UsedOf(const Target& target) const;

  std::vector<Part>& all() { return parts_; }
  const std::vector<Part>& all() const { return parts_; }
  std::size_t size() const { return parts_.size(); }
  bool is_empty() const { return parts_.empty(); }

 private:
  void Count(const Part& part, std::int64_t sign);

  std::vector<Part> parts_;  // ascending by id
  std::size_t looks_ = 0;
  std::size_t twins_ = 0;
  std::map<std::string, absl::int128, std::less<>> used_;  // by limit; none that is 0
};

}  // namespace weir::dynamo
