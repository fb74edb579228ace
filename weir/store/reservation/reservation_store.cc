#include "weir/store/reservation/reservation_store.h"

#include <fmt/format.h>

#include "weir/bucket/key_hash.h"
#include "weir/model/stored_text.h"

namespace weir {
namespace {

constexpr std::size_t kMaxBytes = 255;

}  // namespace

std::size_t AccountKeyHash::operator()(const AccountKey& key) const {
  return HashNames(key.resource, key.account);
}

std::string Describe(const AccountKey& key) {
  return fmt::format("{} for {}", key.resource, key.account);
}

Status Check(const AccountKey& key) {
  WEIR_RETURN_IF_ERROR(CheckText({.what = "resource", .longest = kMaxBytes}, key.resource));
  return CheckText({.what = "account", .longest = kMaxBytes}, key.account);
}

std::string NewSlotId(std::uint64_t high, std::uint64_t low) {
  constexpr std::uint64_t kVersion = 0x4000;
  constexpr std::uint64_t kVariant = 0x8000;
  return fmt::format("w-{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xFFFF,
                     (high & 0x0FFF) | kVersion, ((low >> 48) & 0x3FFF) | kVariant,
                     low & 0xFFFF'FFFF'FFFF);
}

}  // namespace weir
