// Parses the names and ARNs of streams.
#pragma once

#include <string>
#include <string_view>

#include "weir/base/result.h"
#include "weir/kinesis/wire/wire.h"

namespace weir::kinesis {

/// Parses a name (1 to 128 of a-z A-Z 0-9 _ . -) or an ARN
/// (arn:aws...:kinesis:REGION:ACCOUNT:stream/NAME, with an account of 12 digits). kInvalidArgument:
/// neither.
[[nodiscard]] Result<StreamAddress> ParseStreamAddress(std::string_view text);

/// Returns the region of a stream's ARN; empty if the stream has a name.
/// REQUIRES: ParseStreamAddress returned `stream`.
std::string RegionOf(const StreamAddress& stream);

}  // namespace weir::kinesis
