#include "weir/grpc/timeout_text.h"

#include <fmt/format.h>

#include <optional>

namespace weir::grpc {
namespace {

constexpr std::int64_t kLongestNanos = 366LL * 86'400 * 1'000'000'000;

std::optional<std::int64_t> NanosOf(char unit) {
  switch (unit) {
    case 'H':
      return 3'600'000'000'000;
    case 'M':
      return 60'000'000'000;
    case 'S':
      return 1'000'000'000;
    case 'm':
      return 1'000'000;
    case 'u':
      return 1'000;
    case 'n':
      return 1;
    default:
      return std::nullopt;
  }
}

}  // namespace

Result<nanoseconds> ParseTimeout(std::string_view text) {
  const auto fail = [&] {
    return Fail(Code::kInvalidArgument,
                fmt::format("grpc-timeout: '{}' is not one to eight digits and H, M, S, m, u or n",
                            text.substr(0, 20)));
  };
  if (text.size() < 2 || text.size() > 9) return fail();
  const auto unit = NanosOf(text.back());
  std::int64_t count = 0;
  for (const char digit : text.substr(0, text.size() - 1)) {
    if (digit < '0' || digit > '9') return fail();
    count = count * 10 + (digit - '0');
  }
  if (!unit) return fail();
  return nanoseconds(count > kLongestNanos / *unit ? kLongestNanos : count * *unit);
}

}  // namespace weir::grpc
