#include "weir/model/ulid.h"

#include <algorithm>

namespace weir {
namespace {

__extension__ using Bits = unsigned __int128;

constexpr std::string_view kCrockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
constexpr std::size_t kLength = 26;
constexpr std::size_t kTimeLength = 10;

std::string FormatUlid(std::int64_t time, UlidRandom random) {
  // 128 bits, five at a time from the end; the first character holds three.
  Bits bits = static_cast<Bits>(time) << 80;
  bits |= static_cast<Bits>(random.high) << 64;
  bits |= random.low;
  std::string ulid(kLength, '0');
  for (std::size_t i = kLength; i-- > 0; bits >>= 5) {
    ulid[i] = kCrockford[static_cast<std::size_t>(bits & 31)];
  }
  return ulid;
}

}  // namespace

std::string UlidMaker::Next(UnixMillis now, UlidRandom random) {
  if (now.value > time_) {
    time_ = now.value;
    last_ = random;
    return FormatUlid(time_, last_);
  }
  if (++last_.low == 0 && ++last_.high == 0) {
    // The random part has overflowed: use the next millisecond early.
    ++time_;
    last_ = random;
  }
  return FormatUlid(time_, last_);
}

std::optional<UnixMillis> TimeOfUlid(std::string_view ulid) {
  const auto is_known = [](char c) { return kCrockford.find(c) != kCrockford.npos; };
  if (ulid.size() != kLength || ulid[0] > '7' || !std::ranges::all_of(ulid, is_known)) return {};
  std::int64_t time = 0;
  for (const char c : ulid.substr(0, kTimeLength)) {
    time = time * 32 + static_cast<std::int64_t>(kCrockford.find(c));
  }
  return UnixMillis{time};
}

}  // namespace weir
