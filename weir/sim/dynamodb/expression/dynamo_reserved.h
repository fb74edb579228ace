// Words that DynamoDB reserves: an expression can use them as names only through a placeholder.
#pragma once

#include <string_view>

namespace weir::sim {

/// Returns whether the word, in any case, is reserved. (AWS: "Reserved words in DynamoDB".)
bool IsReservedWord(std::string_view word);

}  // namespace weir::sim
