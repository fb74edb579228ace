#include "weir/rate_limiter_py/slots/roster.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "weir/base/integer_text.h"
#include "weir/model/quoted.h"

namespace weir::rate_limiter_py {
namespace {

using dynamo::Item;
using dynamo::Of;
using dynamo::Write;

constexpr std::string_view kHeld = "w_held";
constexpr std::string_view kVersion = "w_v";
constexpr std::string_view kExpiring = "w_e";
constexpr std::string_view kGone = "w_gone";
constexpr std::string_view kWritten = "w_at";
constexpr std::string_view kCounted = "w_counted";
constexpr std::string_view kSweep = "w_sweep";

std::string ExpiryAttribute(std::int64_t second) { return fmt::format("{}{}", kExpiring, second); }

tl::unexpected<Error> DamagedRoster(const Item& item, std::string_view name) {
  const std::string* key = dynamo::GetText(item, kCoordinate);
  return Fail(
      Code::kDataLoss,
      fmt::format("roster of {}: {} is not a whole number; delete the item while no slot of "
                  "the key is held, and it is created again",
                  Quoted(key == nullptr ? "" : *key), Quoted(name)));
}

Status ReadNumber(const Item& item, std::string_view name, std::int64_t& number) {
  if (!item.contains(name)) return {};
  const std::optional<std::int64_t> read = dynamo::GetNumber(item, name);
  if (!read) return DamagedRoster(item, name);
  number = *read;
  return {};
}

Write ChangeOf(const AccountKey& key) {
  return {.kind = Write::Kind::kUpdate, .key = RosterKey(key), .item = {}, .expression = {}};
}

// Requires that `second` has not been dropped and that no sweep is due. Sets the time of the write
// and increments the version.
void PrepareFor(Write& write, std::int64_t second, UnixMillis now) {
  dynamo::Expression& e = write.expression;
  e.Require(
      fmt::format("(attribute_not_exists({0}) OR {0} < {1})", e.Name(kGone), e.Of(Of(second))));
  e.Require(fmt::format("(attribute_not_exists({0}) OR {0} < {1} OR {0} < {2})", e.Name(kVersion),
                        e.Of(Of(kSweepEvery)), e.Name(kSweep)));
  e.Set(kWritten, Of(now.value)).Add(kVersion, 1);
}

void PutNumber(Item& item, std::string_view name, std::int64_t number) {
  item.emplace(name, Of(number));
}

}  // namespace

bool Roster::Counts(std::int64_t second) const {
  const auto at = expiring.find(second);
  return at != expiring.end() && at->second > 0;
}

void Roster::DropExpired(std::int64_t second) {
  const auto end = expiring.upper_bound(second);
  if (end == expiring.begin()) return;
  dropped_until = std::max(dropped_until, std::prev(end)->first);
  for (auto at = expiring.begin(); at != end; ++at) held -= at->second;
  expiring.erase(expiring.begin(), end);
}

void Roster::AddSlot(std::int64_t second, UnixMillis now) {
  ++held;
  ++expiring[second];
  written = now;
}

void Roster::Move(std::int64_t from, std::int64_t to, UnixMillis now) {
  --held;
  --expiring[from];
  AddSlot(to, now);
}

void Roster::Recount(std::map<std::int64_t, std::int64_t> found, UnixMillis now) {
  found.erase(found.begin(), found.upper_bound(dropped_until));
  expiring = std::move(found);
  held = 0;
  for (const auto& [second, slots] : expiring) held += slots;
  counted = now;
}

bool Roster::IsSweepDue() const { return version >= std::max(sweep, kSweepEvery); }

std::optional<std::int64_t> Roster::Earliest() const {
  const auto at =
      std::ranges::find_if(expiring, [](const auto& entry) { return entry.second > 0; });
  return at == expiring.end() ? std::nullopt : std::optional(at->first);
}

dynamo::TableKey RosterKey(const AccountKey& key) {
  return {.pk = Coordinate(key.resource, key.account),
          .sk = fmt::format("w_roster#{}", key.resource.size())};
}

Result<Roster> ReadRoster(const Item& item) {
  Roster roster;
  const std::pair<std::string_view, std::int64_t*> numbers[] = {{kHeld, &roster.held},
                                                                {kVersion, &roster.version},
                                                                {kGone, &roster.dropped_until},
                                                                {kWritten, &roster.written.value},
                                                                {kCounted, &roster.counted.value},
                                                                {kSweep, &roster.sweep}};
  for (const auto& [name, number] : numbers) {
    WEIR_RETURN_IF_ERROR(ReadNumber(item, name, *number));
  }
  for (auto at = item.lower_bound(kExpiring); at != item.end() && at->first.starts_with(kExpiring);
       ++at) {
    const auto second = ReadInteger<std::int64_t>(at->first.substr(kExpiring.size()));
    if (!second) return DamagedRoster(item, at->first);
    WEIR_RETURN_IF_ERROR(ReadNumber(item, at->first, roster.expiring[*second]));
  }
  return roster;
}

Write TakeWrite(const AccountKey& key, const TakeArgs& taking) {
  Write write = ChangeOf(key);
  dynamo::Expression& e = write.expression;
  e.Require(fmt::format("(attribute_not_exists({0}) OR {0} < {1})", e.Name(kHeld),
                        e.Of(Of(taking.room))));
  PrepareFor(write, taking.second, taking.now);
  e.Add(kHeld, 1).Add(ExpiryAttribute(taking.second), 1);
  return write;
}

Write MoveWrite(const AccountKey& key, const MoveArgs& moving) {
  Write write = ChangeOf(key);
  dynamo::Expression& e = write.expression;
  e.Require(ExpiryAttribute(moving.from), ">=", 1);
  PrepareFor(write, moving.to, moving.now);
  // DynamoDB refuses two changes of one attribute in an expression.
  if (moving.from != moving.to)
    e.Add(ExpiryAttribute(moving.from), -1).Add(ExpiryAttribute(moving.to), 1);
  return write;
}

Write GiveBackWrite(const AccountKey& key, std::int64_t second) {
  Write write = ChangeOf(key);
  write.expression.Require(ExpiryAttribute(second), ">=", 1)
      .Add(kHeld, -1)
      .Add(ExpiryAttribute(second), -1)
      .Add(kVersion, 1);
  return write;
}

// Puts the whole item: an expression that removes the attributes of hundreds of seconds could
// exceed DynamoDB's limit.
Write ReplaceWrite(const AccountKey& key, const Roster& seen, const Roster& after) {
  Write put{.kind = Write::Kind::kPut, .key = {}, .item = {}, .expression = {}};
  put.item = ToItem(RosterKey(key), {std::string(kCoordinate), std::string(kReservationId), ""});
  PutNumber(put.item, kHeld, after.held);
  PutNumber(put.item, kVersion, seen.version + 1);
  PutNumber(put.item, kGone, after.dropped_until);
  PutNumber(put.item, kWritten, after.written.value);
  PutNumber(put.item, kCounted, after.counted.value);
  PutNumber(put.item, kSweep, seen.version + 1 + kSweepEvery);
  for (const auto& [second, slots] : after.expiring) {
    if (slots > 0) PutNumber(put.item, ExpiryAttribute(second), slots);
  }
  // A roster without an item has version 0.
  put.expression.RequireSame(kVersion,
                             seen.version > 0 ? std::optional(Of(seen.version)) : std::nullopt);
  return put;
}

}  // namespace weir::rate_limiter_py
