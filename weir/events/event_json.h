// Parses events: the JSON of Amazon EventBridge (User Guide, "Events"), plain or in the envelope of
// a notification of Amazon SNS.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "weir/base/result.h"

namespace weir {

inline constexpr std::size_t kMaxEventBytes = std::size_t{1} << 20;
inline constexpr int kMaxEventDepth = 64;

/// Returns the event in the text: a JSON object whose `source` is a string that is not empty. If
/// the object is an SNS envelope (`Type` is "Notification", no `source`), returns the event in its
/// `Message`. Fails with kInvalidArgument for any other text, for more than kMaxEventBytes, and for
/// nesting deeper than kMaxEventDepth.
Result<nlohmann::json> ReadEvent(std::string_view text);

}  // namespace weir
