// The part of CEL (github.com/google/cel-spec) that limitador's limits on descriptors use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::rules {

/// `descriptors[N].k` or `descriptors[N]['k']`.
struct DescriptorPath {
  std::uint32_t index;
  std::string key;

  friend bool operator==(const DescriptorPath&, const DescriptorPath&) = default;
};

/// A path, `==`, and a string without backslashes.
struct DescriptorEquality {
  DescriptorPath path;
  std::string value;
};

/// Returns nothing if the text is another expression.
std::optional<DescriptorPath> ParseDescriptorPath(std::string_view text);

/// Parses one or more equalities that are joined by `&&`. Returns nothing if the text is another
/// expression.
std::optional<std::vector<DescriptorEquality>> ParseConjunction(std::string_view text);

}  // namespace weir::rules
