#include "weir/zae_table/actor/write_fence.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace weir::dynamo {
namespace {

// The maximum number of ruled-out writes (condition failed, refused or not sent) that a round
// stores. Only a network that delivers a request twice can apply one of them later; the fence must
// then still know the value in the slot.
constexpr std::size_t kMaxRuledOut = 8;

using Parts = std::vector<WriteFence::PartId>;

Parts Without(const Parts& parts, const Parts& others) {
  Parts rest;
  std::ranges::set_difference(parts, others, std::back_inserter(rest));
  return rest;
}

}  // namespace

std::optional<WriteFence::Guard> WriteFence::Begin(Parts parts, const FencedItem& item,
                                                   UnixMillis now, std::uint32_t draw) {
  if (!slot_ && !Claim(item, now, draw)) return std::nullopt;
  std::ranges::sort(parts);
  const WriteId id = next_++;
  const FenceValue value{.instance = instance_, .at = now, .draw = draw};
  Remember({.id = id, .value = value, .parts = std::move(parts)});
  return Guard{.write = id,
               .slot = *slot_,
               .expected = expected_,
               .value = value,
               .rf = claim_rf_ == kNoItem ? std::nullopt : claim_rf_};
}

// A slot with a value of this process was held by an earlier fence, which was destroyed without
// open writes, or by this fence, which gave up the slot (Lose).
bool WriteFence::IsFree(const FenceValue& value, UnixMillis now) const {
  if (value == kUnreadableSlot) return false;
  return value.instance == instance_ || value.at + kIdle <= now || value.at > now + kMaxAhead;
}

// An empty slot is chosen at random, so that processes which begin together seldom choose the same.
bool WriteFence::Claim(const FencedItem& item, UnixMillis now, std::uint32_t draw) {
  std::vector<std::size_t> empty;
  std::optional<std::size_t> oldest;
  for (std::size_t i = 0; i < kFenceSlots; ++i) {
    const std::optional<FenceValue>& value = item.slots[i];
    if (!value) {
      empty.push_back(i);
      continue;
    }
    if (IsFree(*value, now) && (!oldest || value->at < item.slots[*oldest]->at)) oldest = i;
  }
  if (!empty.empty()) {
    slot_ = empty[draw % empty.size()];
  } else {
    slot_ = oldest;
  }
  if (!slot_) return false;
  expected_ = item.slots[*slot_];
  claim_rf_ = item.rf;
  return true;
}

void WriteFence::Remember(Write write) {
  round_.push_back(std::move(write));
  const auto ruled_out = std::ranges::count_if(round_, &Write::is_ruled_out);
  if (static_cast<std::size_t>(ruled_out) <= kMaxRuledOut) return;
  round_.erase(std::ranges::find_if(round_, &Write::is_ruled_out));
}

std::size_t WriteFence::open_writes() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(round_, [](const Write& write) { return !write.is_ruled_out; }));
}

WriteFence::Write* WriteFence::Find(WriteId write) {
  const auto found = std::ranges::find(round_, write, &Write::id);
  return found == round_.end() ? nullptr : &*found;
}

// Each write's parts are sorted, so the union is, too.
Parts WriteFence::OpenParts() const {
  Parts open;
  for (const Write& write : round_) {
    if (write.is_ruled_out) continue;
    Parts all;
    std::ranges::set_union(open, write.parts, std::back_inserter(all));
    open.swap(all);
  }
  return open;
}

WriteFence::Settlement WriteFence::OnApplied(WriteId write) {
  const Write* applied = Find(write);
  return applied == nullptr ? Settlement{} : Settle(*applied);
}

WriteFence::Settlement WriteFence::OnNotApplied(WriteId write) {
  Write* own = Find(write);
  if (own == nullptr) return {};
  const Parts before = OpenParts();
  own->is_ruled_out = true;
  return {.applied = {}, .not_applied = Without(before, OpenParts()), .unknown = {}};
}

// The slot is compared first: the condition of this write may have failed because an earlier write
// of the round was applied. If rf moved during a claim, no write of the claim can be applied any
// more, but one may have been applied to an item that was deleted since.
WriteFence::Settlement WriteFence::OnFailed(WriteId write, const std::optional<FencedItem>& item) {
  Write* own = Find(write);
  if (own == nullptr) return {};
  const FenceSlots slots = item ? item->slots : FenceSlots{};
  const std::optional<FenceValue>& found = slots[*slot_];
  const auto applied =
      std::ranges::find_if(round_, [&](const Write& one) { return found == one.value; });
  if (applied != round_.end()) return Settle(*applied);
  const Parts before = OpenParts();
  own->is_ruled_out = true;
  const bool is_rf_unchanged = !claim_rf_ || (item && item->rf == *claim_rf_);
  if (!item || found != expected_ || !is_rf_unchanged) return Lose(before);
  return {.applied = {}, .not_applied = Without(before, OpenParts()), .unknown = {}};
}

// Every other write of the round expects a value that the slot never holds again.
WriteFence::Settlement WriteFence::Settle(const Write& applied) {
  Settlement settled{
      .applied = applied.parts, .not_applied = Without(OpenParts(), applied.parts), .unknown = {}};
  expected_ = applied.value;
  claim_rf_.reset();
  round_.clear();
  return settled;
}

WriteFence::Settlement WriteFence::Lose(const Parts& open_before) {
  Parts unknown = OpenParts();
  Settlement settled{.applied = {}, .not_applied = Without(open_before, unknown), .unknown = {}};
  settled.unknown = std::move(unknown);
  slot_.reset();
  expected_.reset();
  claim_rf_.reset();
  round_.clear();
  return settled;
}

}  // namespace weir::dynamo
