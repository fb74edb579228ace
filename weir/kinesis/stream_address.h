// Streams as people name them.
#pragma once

#include <string>
#include <string_view>

#include "weir/base/result.h"
#include "weir/kinesis/wire.h"

namespace weir::kinesis {

/// A name (1 to 128 of a-z A-Z 0-9 _ . -) or an ARN (arn:aws...:kinesis:REGION:ACCOUNT:stream/NAME,
/// the account 12 digits). kInvalidArgument where it is neither.
[[nodiscard]] Result<StreamAddress> ParseStreamAddress(std::string_view text);

/// The region of a stream's ARN; empty where it is addressed by its name.
/// REQUIRES: as ParseStreamAddress returns it.
std::string RegionOf(const StreamAddress& stream);

}  // namespace weir::kinesis
