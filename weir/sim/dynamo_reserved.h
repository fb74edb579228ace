// Words that an expression may name attributes by only through a placeholder.
#pragma once

#include <string_view>

namespace weir::sim {

/// In whatever case. (AWS: "Reserved words in DynamoDB".)
bool IsReservedWord(std::string_view word);

}  // namespace weir::sim
