// Unpacks gzip.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "weir/base/result.h"

namespace weir {

/// Returns the text that `packed` holds: one or more members of gzip (RFC 1952). Fails with
/// kDataLoss if it is damaged or cut off, and with kOutOfRange if the text has more than `most`
/// bytes; memory is bounded by `most` too. Fails with kInternal if zlib has no memory.
[[nodiscard]] Result<std::string> Gunzip(std::string_view packed, std::size_t most);

}  // namespace weir
