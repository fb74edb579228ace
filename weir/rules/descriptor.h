// A descriptor of a request to the rate limit service.
#pragma once

#include <span>
#include <string_view>

namespace weir::rules {

/// Any bytes, of any length; owned by the request.
struct DescriptorEntry {
  std::string_view key;
  std::string_view value;
};

using Descriptor = std::span<const DescriptorEntry>;

}  // namespace weir::rules
