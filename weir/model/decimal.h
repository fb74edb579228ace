// Decimal numbers with up to three places, held as whole thousandths: tokens as millitokens,
// seconds as milliseconds. No floating point on the way.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace weir {

enum class DecimalFault { kNotANumber, kTooPrecise, kTooLarge };

/// What to say of a text with this fault: "is not a number" and the like.
std::string_view Describe(DecimalFault fault);

/// Reads an optional sign, digits, and optionally a point and one to three digits.
tl::expected<std::int64_t, DecimalFault> ParseThousandths(std::string_view text);

/// The shortest text that ParseThousandths reads back: 1500 -> "1.5", -250 -> "-0.25".
std::string FormatThousandths(std::int64_t thousandths);

}  // namespace weir
