// Events as services tell of them: Amazon EventBridge's JSON (User Guide, "Events"), as it is or in
// the envelope of a notification of Amazon SNS.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "weir/base/result.h"

namespace weir {

inline constexpr std::size_t kMaxEventBytes = std::size_t{1} << 20;
inline constexpr int kMaxEventDepth = 64;

/// The event in the text: a JSON object whose `source` is a text that is not empty. What is in an
/// SNS envelope (`Type` "Notification", no `source`) is its `Message`. kInvalidArgument for all
/// else, for more than kMaxEventBytes and for nesting beyond kMaxEventDepth.
Result<nlohmann::json> ReadEvent(std::string_view text);

}  // namespace weir
