// MD5: the checksum of the record format, and the hash of partition keys. Not for anything secret.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace weir::kinesis {

using Md5 = std::array<std::uint8_t, 16>;

/// Returns the MD5 of the parts, one after the other.
Md5 Md5Of(std::initializer_list<std::string_view> parts);

}  // namespace weir::kinesis
