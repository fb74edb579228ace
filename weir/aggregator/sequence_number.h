// A sequence number of a table's stream.
#pragma once

#include <array>
#include <compare>
#include <optional>
#include <string_view>

namespace weir::dynamo {

/// The number with leading zeros, so that numbers compare as texts. Engines use up to 40 digits.
struct SequenceNumber {
  std::array<char, 40> digits{};

  std::string_view text() const { return {digits.data(), digits.size()}; }
  friend auto operator<=>(const SequenceNumber&, const SequenceNumber&) = default;
};

/// Returns nothing unless `text` is 1 to 40 decimal digits.
std::optional<SequenceNumber> ReadSequence(std::string_view text);

}  // namespace weir::dynamo
