// A text as a scalar of YAML.
#pragma once

#include <string>
#include <string_view>

namespace weir {

/// Returns the text unchanged if it begins with a letter or `_`, has only letters, digits and
/// `_.-/@`, and is no word that YAML 1.1 or 1.2 reads as something else. Otherwise returns it in
/// double quotes. REQUIRES: `text` is UTF-8 without control characters.
std::string YamlText(std::string_view text);

}  // namespace weir
