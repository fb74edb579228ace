#include "weir/zae_table/actor/fence_slots.h"

#include <fmt/compile.h>

namespace weir::dynamo {
namespace {

constexpr std::size_t kInstanceBytes = 6;
constexpr std::size_t kTimeBytes = 6;
constexpr std::size_t kDrawBytes = 4;
constexpr std::size_t kValueBytes = kInstanceBytes + kTimeBytes + kDrawBytes;

void AppendBigEndian(std::string& out, std::uint64_t number, std::size_t bytes) {
  for (std::size_t i = bytes; i-- > 0;) out += static_cast<char>(number >> (8 * i) & 0xFF);
}

std::uint64_t TakeBigEndian(std::string_view& from, std::size_t bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < bytes; ++i)
    number = number << 8 | static_cast<unsigned char>(from[i]);
  from.remove_prefix(bytes);
  return number;
}

FenceValue ReadSlot(const std::string* stored) {
  if (stored == nullptr || stored->size() != kValueBytes) return kUnreadableSlot;
  std::string_view rest = *stored;
  FenceValue value;
  value.instance = TakeBigEndian(rest, kInstanceBytes);
  value.at.value = static_cast<std::int64_t>(TakeBigEndian(rest, kTimeBytes));
  value.draw = static_cast<std::uint32_t>(TakeBigEndian(rest, kDrawBytes));
  return value;
}

}  // namespace

std::string SlotAttribute(std::size_t slot) { return fmt::format(FMT_COMPILE("w_{:x}"), slot); }

Value Of(const FenceValue& value) {
  std::string bytes;
  AppendBigEndian(bytes, value.instance, kInstanceBytes);
  AppendBigEndian(bytes, static_cast<std::uint64_t>(value.at.value), kTimeBytes);
  AppendBigEndian(bytes, value.draw, kDrawBytes);
  return {Bytes{std::move(bytes)}};
}

FenceSlots ReadSlots(const Item& item) {
  FenceSlots slots;
  for (std::size_t i = 0; i < kFenceSlots; ++i) {
    const std::string name = SlotAttribute(i);
    if (item.contains(name)) slots[i] = ReadSlot(GetBytes(item, name));
  }
  return slots;
}

void AddFence(Expression& expression, const WriteFence::Guard& guard) {
  const std::string slot = SlotAttribute(guard.slot);
  expression.RequireSame(slot, guard.expected ? std::optional(Of(*guard.expected)) : std::nullopt);
  if (guard.rf) expression.Require("rf", "=", guard.rf->value);
  expression.Set(slot, Of(guard.value));
}

// If the process of a slot has written to it in the meantime, the condition fails, and the process
// keeps the slot.
void RemoveExpiredSlots(Expression& expression, const FenceSlots& slots, std::size_t own,
                        UnixMillis now) {
  std::size_t removed = 0;
  for (std::size_t i = 0; i < kFenceSlots && removed < kMaxExpiredSlots; ++i) {
    if (i == own || !slots[i] || slots[i]->at + kSlotLife > now) continue;
    const std::string slot = SlotAttribute(i);
    if (*slots[i] != kUnreadableSlot) expression.RequireEqual(slot, Of(*slots[i]));
    expression.Remove(slot);
    ++removed;
  }
}

}  // namespace weir::dynamo
