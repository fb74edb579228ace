// The limits file as text. Format: docs/limits-file.md.
#pragma once

#include <string>

#include "weir/model/limits_file.h"

namespace weir {

/// Returns YAML that ParseLimitsFile reads back as `file`. Equal values give the same bytes;
/// resources and entities are sorted by name. If all numbers are whole, zae-limiter can read it
/// too. REQUIRES: `file` is valid for ParseLimitsFile; in particular, no list of limits except
/// `system` is empty.
std::string FormatLimitsFile(const LimitsFile& file);

}  // namespace weir
