// Unpacks gzip.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "weir/base/result.h"

namespace weir {

/// Unpacks `packed`: one gzip member (RFC 1952) or several, whose texts are joined. Fails with
/// kDataLoss if it is damaged or cut off, and with kOutOfRange if the text has more than
/// `max_bytes` bytes, which bounds the memory too. Fails with kInternal if zlib has no memory.
[[nodiscard]] Result<std::string> Gunzip(std::string_view packed, std::size_t max_bytes);

}  // namespace weir
