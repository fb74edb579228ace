#include "weir/zae_table/actor/write_load.h"

#include <algorithm>
#include <variant>

namespace weir::dynamo {
namespace {

constexpr std::int64_t kBearablePercent = 45;
constexpr std::int64_t kHotPercent = 30;
constexpr std::int64_t kLeastPercent = 25;
constexpr std::int64_t kBytesOfUnit = 1024;
// For each list and map, and for each of their elements.
constexpr std::int64_t kBytesOfContainer = 3;
constexpr std::int64_t kBytesOfElement = 1;

std::int64_t PartOfCapacity(const Meter& wcu, std::int64_t percent) {
  return wcu.quota.capacity / 100 * percent;
}

std::int64_t SizeOf(const Item& item);

struct SizeOfValue {
  std::int64_t operator()(const Null&) const { return 1; }
  std::int64_t operator()(bool) const { return 1; }
  std::int64_t operator()(const std::string& text) const { return SizeOfText(text); }
  // Two digits take one byte, and the number one byte more.
  std::int64_t operator()(const Number& number) const { return SizeOfText(number.text) / 2 + 1; }
  std::int64_t operator()(const StringSet& set) const {
    std::int64_t size = 0;
    for (const std::string& member : set.members) size += SizeOfText(member);
    return size;
  }
  std::int64_t operator()(const List& list) const {
    std::int64_t size = kBytesOfContainer;
    for (const Value& value : list) size += kBytesOfElement + std::visit(*this, value.held);
    return size;
  }
  std::int64_t operator()(const Item& map) const {
    return kBytesOfContainer + kBytesOfElement * static_cast<std::int64_t>(map.size()) +
           SizeOf(map);
  }
  std::int64_t operator()(const Bytes& bytes) const { return SizeOfText(bytes.content); }
  std::int64_t operator()(const Opaque& opaque) const { return SizeOfText(opaque.json); }

  static std::int64_t SizeOfText(const std::string& text) {
    return static_cast<std::int64_t>(text.size());
  }
};

std::int64_t SizeOf(const Item& item) {
  std::int64_t size = 0;
  for (const auto& [name, value] : item) {
    size += SizeOfValue::SizeOfText(name) + std::visit(SizeOfValue{}, value.held);
  }
  return size;
}

}  // namespace

std::int64_t WriteUnits(const Item& item) {
  return std::max<std::int64_t>((SizeOf(item) + kBytesOfUnit - 1) / kBytesOfUnit, 1);
}

std::int64_t WritesLeft(const Meter& wcu, std::int64_t elapsed) {
  Meter meter = wcu;
  meter.tokens = std::min(meter.tokens, meter.quota.capacity);
  meter.quota.amount = std::max<std::int64_t>(meter.quota.amount / 100 * kBearablePercent, 1);
  meter.remainder = 0;
  Refill(meter, elapsed);
  return meter.tokens;
}

bool IsHot(const Meter& wcu, std::int64_t elapsed) {
  return WritesLeft(wcu, elapsed) < PartOfCapacity(wcu, kHotPercent);
}

WriteDebit DebitWrite(const Meter& wcu, std::int64_t elapsed, bool moves, std::int64_t units) {
  const std::int64_t left = WritesLeft(wcu, elapsed);
  const std::int64_t spare = std::max<std::int64_t>(left - PartOfCapacity(wcu, kLeastPercent), 0);
  const std::int64_t refill = moves ? left - wcu.tokens : 0;
  const std::int64_t cost = units * kWriteCost;
  return {.tokens = refill - std::min(cost, spare), .consumed = cost};
}

}  // namespace weir::dynamo
