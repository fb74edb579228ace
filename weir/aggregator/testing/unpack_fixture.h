// Reads archive objects in tests.
#pragma once

#include <string>

namespace weir::dynamo {

/// Returns the text of a gzip body of up to 64 KB; empty if it is damaged.
std::string Unpack(const std::string& packed);

}  // namespace weir::dynamo
