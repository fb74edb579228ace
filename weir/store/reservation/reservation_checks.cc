#include "weir/store/reservation/reservation_checks.h"

#include <fmt/format.h>

#include "weir/model/quoted.h"
#include "weir/model/stored_text.h"
#include "weir/store/listing.h"

namespace weir {
namespace {

constexpr std::size_t kMaxNameBytes = 255;
constexpr std::size_t kMaxServiceBytes = 2048;  // the limit of DynamoDB for an index key

Status Check(const PutAccountLimit& put) {
  const auto& [row, seen] = put;
  WEIR_RETURN_IF_ERROR(Check(row.key, row.limit));
  if (!row.service.empty()) WEIR_RETURN_IF_ERROR(CheckService(row.service));
  if (!seen || seen->key == row.key) return {};
  return Fail(Code::kInvalidArgument,
              fmt::format("limit of {}: the row that was seen is of {}; expected the same key",
                          Describe(row.key), Describe(seen->key)));
}

// Returns the beginning of a cursor for slots of this key. Names may contain any character, so the
// stem also contains their lengths.
std::string CursorStem(const AccountKey& key) {
  return fmt::format("{}.{} {}{} ", key.resource.size(), key.account.size(), key.resource,
                     key.account);
}

}  // namespace

Status Check(const SlotRef& slot) {
  WEIR_RETURN_IF_ERROR(Check(slot.key));
  return CheckText({.what = "slot id", .longest = kMaxNameBytes}, slot.id);
}

Status CheckSlotLife(const AccountKey& key, milliseconds ttl) {
  if (ttl > milliseconds(0) && ttl <= kLongestSlotLife) return {};
  return Fail(Code::kInvalidArgument,
              fmt::format("{}: a slot that lives for {} ms; expected 1 to {}", Describe(key),
                          ttl.count(), kLongestSlotLife.count()));
}

Status Check(const SlotClaim& claim) {
  WEIR_RETURN_IF_ERROR(Check(claim.slot));
  if (claim.limit < 0) {
    return Fail(Code::kInvalidArgument, fmt::format("{}: a limit of {} slots; expected 0 or more",
                                                    Describe(claim.slot.key), claim.limit));
  }
  return CheckSlotLife(claim.slot.key, claim.ttl);
}

Status CheckResourceId(std::string_view resource_id) {
  return CheckText({.what = "resource id", .longest = kMaxResourceIdBytes}, resource_id);
}

Status CheckBinding(const SlotRef& slot, std::string_view resource_id) {
  WEIR_RETURN_IF_ERROR(Check(slot));
  WEIR_RETURN_IF_ERROR(CheckResourceId(resource_id));
  if (resource_id != slot.id) return {};
  return Fail(
      Code::kInvalidArgument,
      fmt::format("resource id {}: it is the id of the slot itself, which marks a slot that "
                  "is not bound; expected the id of the resource that the slot is for",
                  Quoted(slot.id)));
}

Status CheckService(std::string_view service) {
  return CheckText({.what = "service", .longest = kMaxServiceBytes}, service);
}

Status Check(const AccountLimitChange& change) {
  if (const auto* gone = std::get_if<DeleteAccountLimit>(&change)) return Check(gone->seen.key);
  return Check(std::get<PutAccountLimit>(change));
}

Status CheckTake(const AccountKey& key, const AccountLimit& limit, std::int64_t count) {
  WEIR_RETURN_IF_ERROR(Check(key, limit));
  const auto refuse = [&](std::string why) {
    return Fail(Code::kInvalidArgument, fmt::format("tokens of {}: {}", Describe(key), why));
  };
  if (limit.blocked()) {
    return refuse(fmt::format("blocked, by a limit of {}", limit.limit));
  }
  if (limit.window == limit.window.zero()) {
    return refuse("a limit without a window; expected a window of 1 second or more");
  }
  if (count < 1 || count > limit.limit) {
    return refuse(fmt::format("{} tokens; expected 1 to the limit, {}", count, limit.limit));
  }
  return {};
}

Result<std::string> ReadSlotCursor(const AccountKey& key, const PageRequest& page) {
  WEIR_RETURN_IF_ERROR(CheckLimit(page));
  if (page.cursor.empty()) return std::string();
  const std::string stem = CursorStem(key);
  if (!page.cursor.starts_with(stem) || page.cursor.size() == stem.size()) return BadCursor();
  return page.cursor.substr(stem.size());
}

std::string SlotCursor(const AccountKey& key, std::string_view last_id) {
  return CursorStem(key).append(last_id);
}

}  // namespace weir
