// Decimal numbers with up to three decimals, stored as whole thousandths: tokens as millitokens,
// seconds as milliseconds. No floating point is used.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace weir {

enum class DecimalFault { kNotANumber, kTooPrecise, kTooLarge };

/// Returns the end of an error message about a text with this fault, such as "is not a number".
std::string_view Describe(DecimalFault fault);

/// Parses an optional sign, digits, and optionally a point and one to three digits.
tl::expected<std::int64_t, DecimalFault> ParseThousandths(std::string_view text);

/// Returns the shortest text that ParseThousandths reads back: 1500 -> "1.5", -250 -> "-0.25".
std::string FormatThousandths(std::int64_t thousandths);

}  // namespace weir
