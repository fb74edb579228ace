#include "weir/rate_limiter_py/slots/slot_item.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "weir/model/quoted.h"

namespace weir::rate_limiter_py {
namespace {

using dynamo::GetNumber;
using dynamo::GetText;
using dynamo::Item;
using dynamo::Of;

constexpr std::string_view kTombstone = "w_ended";
constexpr std::string_view kOtherItemPrefix = "w_";    // of the ids of items that are not slots
constexpr std::int64_t kLastSecond = 253'402'300'799;  // of the year 9999

constexpr std::int64_t DivideUp(std::int64_t number, std::int64_t by) {
  return number / by + (number % by > 0 ? 1 : 0);
}

std::string TextOr(const Item& item, std::string_view name, const std::string& otherwise) {
  const std::string* text = GetText(item, name);
  return text == nullptr ? otherwise : *text;
}

bool IsOf(const HeldSlot& slot, const AccountKey& key) {
  const auto fits = [](const std::string& has, const std::string& wanted) {
    return has.empty() || has == wanted;
  };
  return fits(slot.key.resource, key.resource) && fits(slot.key.account, key.account);
}

}  // namespace

dynamo::TableKey SlotKey(const SlotRef& slot) {
  return {.pk = Coordinate(slot.key.resource, slot.key.account), .sk = slot.id};
}

dynamo::TableKey EndedKey(std::string_view resource_id) {
  return {.pk = Coordinate(kTombstone, resource_id), .sk = std::string(kTombstone)};
}

std::int64_t ExpiryStep(milliseconds ttl) {
  const auto part = static_cast<std::uint64_t>(std::max<std::int64_t>(ttl.count() / 32'000, 1));
  return static_cast<std::int64_t>(std::bit_floor(part));
}

std::int64_t ExpirySecond(UnixMillis now, milliseconds ttl, std::int64_t after) {
  const std::int64_t step = ExpiryStep(ttl);
  const std::int64_t wanted = DivideUp(DivideUp((now + ttl).value, 1000), step) * step;
  return std::max(wanted, DivideUp(after + 1, step) * step);
}

Item SlotItem(const HeldSlot& slot) {
  Item item = ToItem(SlotKey({slot.key, slot.id}),
                     {std::string(kCoordinate), std::string(kReservationId), ""});
  item.emplace(kResourceId, Of(slot.resource_id));
  item.emplace(kResourceName, Of(slot.key.resource));
  item.emplace(kAccountId, Of(slot.key.account));
  item.emplace(kExpirationTime, Of(SecondOf(slot)));
  item.emplace(kClaimed, Of(slot.claimed.value));
  return item;
}

Result<std::optional<HeldSlot>> ReadSlot(const Item& item) {
  const std::string* id = GetText(item, kReservationId);
  if (id == nullptr || id->starts_with(kOtherItemPrefix) || !item.contains(kExpirationTime)) {
    return std::nullopt;
  }
  const std::optional<std::int64_t> expires = GetNumber(item, kExpirationTime);
  if (!expires || *expires < 0 || *expires > kLastSecond) {
    return Fail(Code::kDataLoss,
                fmt::format("slot {} of {}: its {} is not a time; expected whole seconds since "
                            "1970; mend or delete the row",
                            Quoted(*id), Quoted(TextOr(item, kCoordinate, "")), kExpirationTime));
  }
  return HeldSlot{.key = {TextOr(item, kResourceName, ""), TextOr(item, kAccountId, "")},
                  .id = *id,
                  .resource_id = TextOr(item, kResourceId, *id),
                  .claimed = {GetNumber(item, kClaimed).value_or(0)},
                  .expires = AtSecond(*expires)};
}

Result<std::optional<HeldSlot>> ReadHeld(const Item& item, const AccountKey& key, UnixMillis now) {
  WEIR_ASSIGN_OR_RETURN(std::optional<HeldSlot> slot, ReadSlot(item));
  if (!slot || !IsOf(*slot, key) || slot->expires <= now) return std::nullopt;
  slot->key = key;
  return slot;
}

dynamo::Expression AsSeen(const HeldSlot& slot) {
  dynamo::Expression seen;
  seen.Require(kExpirationTime, "=", SecondOf(slot));
  // An unbound slot has its own id as resourceId, or its row lacks the attribute.
  const std::string name = seen.Name(kResourceId);
  const std::string is_same = fmt::format("{} = {}", name, seen.Of(Of(slot.resource_id)));
  if (slot.bound()) return std::move(seen.Require(is_same));
  return std::move(seen.Require(fmt::format("(attribute_not_exists({}) OR {})", name, is_same)));
}

}  // namespace weir::rate_limiter_py
