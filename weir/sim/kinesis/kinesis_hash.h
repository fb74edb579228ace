// The 128-bit space that the shards of a simulated stream divide. It shares no code with
// weir/kinesis, which it tests.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::sim {

__extension__ using Hash128 = unsigned __int128;

inline constexpr Hash128 kLastHash = ~Hash128{0};

/// The range of hashes of a shard, both ends included.
struct HashSpan {
  Hash128 first = 0;
  Hash128 last = kLastHash;

  bool Holds(Hash128 hash) const { return first <= hash && hash <= last; }
};

/// RFC 1321.
std::array<std::uint8_t, 16> Md5(std::string_view bytes);
/// Returns the hash of a record without an explicit hash key: the MD5 of its partition key,
/// big-endian.
Hash128 HashOfKey(std::string_view partition_key);
/// Parses decimal digits. Returns nothing for any other text and for numbers beyond 2^128 - 1.
std::optional<Hash128> ReadHash(std::string_view decimal);
std::string WriteHash(Hash128 hash);

}  // namespace weir::sim
