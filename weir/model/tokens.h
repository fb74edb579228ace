// A number of tokens in the calls of users.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/api.h"
#include "weir/bucket/quota.h"

namespace weir {

/// An integer that is a count: neither a boolean nor a character.
template <class T>
concept WholeNumber = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char> &&
                      !std::same_as<T, wchar_t> && !std::same_as<T, char8_t> &&
                      !std::same_as<T, char16_t> && !std::same_as<T, char32_t>;

/// A signed number of tokens in whole thousandths. Whole numbers convert implicitly, fractions do
/// not (see ParseTokens). A number that does not fit saturates; checks of amounts refuse it,
/// because amounts end at kMaxMillitokens. A saturated value can be negated.
class WEIR_API Tokens {
 public:
  constexpr Tokens() = default;
  constexpr Tokens(WholeNumber auto whole) {  // NOLINT(google-explicit-constructor)
    const bool negative = std::cmp_less(whole, 0);
    if (std::cmp_greater(whole, INT64_MAX / kMillitokens) ||
        std::cmp_less(whole, INT64_MIN / kMillitokens)) {
      milli_ = negative ? INT64_MIN + 1 : INT64_MAX;
    } else {
      milli_ = static_cast<std::int64_t>(whole) * kMillitokens;
    }
  }
  static constexpr Tokens Milli(std::int64_t milli) {
    Tokens tokens;
    tokens.milli_ = milli;
    return tokens;
  }

  constexpr std::int64_t milli() const { return milli_; }
  friend constexpr auto operator<=>(Tokens, Tokens) = default;

 private:
  std::int64_t milli_ = 0;
};

/// An amount of tokens of the limit with this name.
struct Amount {
  std::string limit;
  Tokens tokens;
};
using Amounts = std::vector<Amount>;

}  // namespace weir
