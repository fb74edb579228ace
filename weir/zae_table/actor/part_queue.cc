#include "weir/zae_table/actor/part_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace weir::dynamo {

void PartQueue::Count(const Part& part, std::int64_t sign) {
  if (part.kind == Part::Kind::kLook) looks_ += static_cast<std::size_t>(sign);
  const bool stores_limits = part.kind == Part::Kind::kConform || part.kind == Part::Kind::kRepair;
  const bool is_owed = part.is_adjust() || stores_limits;
  if (is_owed) owed_ += static_cast<std::size_t>(sign);
  if (part.repetition_of != 0) repeats_in_queue_ += static_cast<std::size_t>(sign);
  if (part.repetition_of != 0) return;
  for (std::size_t i = 0; i < part.amounts.size(); ++i) {
    if (part.amounts[i] <= 0) continue;
    const std::string& limit = part.target->limits[i].name;
    absl::int128& sum = used_[limit];
    sum += sign * part.amounts[i];
    if (sum == 0) used_.erase(limit);
  }
}

void PartQueue::Add(Part part) {
  Count(part, 1);
  parts_.push_back(std::move(part));
}

const Part* PartQueue::Find(PartId part) const {
  const auto found = std::ranges::lower_bound(parts_, part, {}, &Part::id);
  return found != parts_.end() && found->id == part ? &*found : nullptr;
}

Part* PartQueue::Find(PartId part) { return const_cast<Part*>(std::as_const(*this).Find(part)); }

Part PartQueue::Remove(PartId part) {
  const auto found = std::ranges::lower_bound(parts_, part, {}, &Part::id);
  Part removed = std::move(*found);
  parts_.erase(found);
  Count(removed, -1);
  return removed;
}

PartId PartQueue::FindAdjust(AdjustId adjust_id) const {
  const auto found = std::ranges::find_if(parts_, [&](const Part& part) {
    return part.kind == Part::Kind::kAdjust && part.repetition_of == 0 &&
           part.adjust_id == adjust_id;
  });
  return found == parts_.end() ? 0 : found->id;
}

const Part* PartQueue::FindLook() const {
  if (looks_ == 0) return nullptr;
  return &*std::ranges::find(parts_, Part::Kind::kLook, &Part::kind);
}

std::vector<Part> PartQueue::RepeatsOf(PartId adjust) const {
  std::vector<Part> repetitions;
  if (repeats_in_queue_ == 0) return repetitions;
  std::ranges::copy_if(parts_, std::back_inserter(repetitions),
                       [&](const Part& part) { return part.repetition_of == adjust; });
  return repetitions;
}

LimitAmounts PartQueue::UsedOf(const Target& target) const {
  LimitAmounts used(target.limits.size(), 0);
  if (used_.empty()) return used;
  for (std::size_t i = 0; i < used.size(); ++i) {
    const auto found = used_.find(target.limits[i].name);
    if (found == used_.end()) continue;
    used[i] = static_cast<std::int64_t>(std::min<absl::int128>(found->second, kMaxDebt));
  }
  return used;
}

}  // namespace weir::dynamo
