// Checks and small functions that charges and their corrections share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/base/result.h"
#include "weir/model/tokens.h"
#include "weir/store/bucket/charge.h"

namespace weir {

/// Returns the index of the limit with this name; nullopt if the target has no such limit, or if
/// the limit blocks.
std::optional<std::size_t> IndexOf(const Target& target, std::string_view name);
/// Returns "entity/resource", for messages.
std::string NameOf(const Target& target);
/// Returns the error for a limit that the target does not have. The message lists the limits that
/// the target has.
Error UnknownLimit(const Target& target, std::string_view name);

/// Fails with kInvalidArgument if a limit is named twice.
[[nodiscard]] Status CheckNamedOnce(const Amounts& amounts);
/// Fails with kInvalidArgument if the absolute value of `delta` is more than kMaxMillitokens.
[[nodiscard]] Status CheckSize(const Target& target, std::size_t index, std::int64_t delta);

/// Returns a charge of 0 tokens of each limit.
Charge EmptyCharge(const TargetPtr& target);
bool ChangesNothing(const Charge& charge);
/// Returns the sum, or the nearest number that fits.
std::int64_t SaturatingAdd(std::int64_t a, std::int64_t b);

}  // namespace weir
