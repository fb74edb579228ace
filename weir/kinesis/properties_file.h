// Parses the text format of java.util.Properties.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"

namespace weir::kinesis {

struct Property {
  std::string name;
  std::string value;  ///< without blanks around it
  int line = 0;       ///< the line on which it begins, from 1
};

/// Returns all properties, in order. kInvalidArgument: an escape "\u" without four hexadecimal
/// digits.
[[nodiscard]] Result<std::vector<Property>> ReadProperties(std::string_view text);

}  // namespace weir::kinesis
