// Text in JSON bodies that are written as streams.
#pragma once

#include <string>
#include <string_view>

namespace weir {

/// Appends `text` as a JSON string, quotes included. Bytes that are no UTF-8 go in as they are.
void AppendJson(std::string& out, std::string_view text);

}  // namespace weir
