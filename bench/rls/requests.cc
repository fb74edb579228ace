#include "bench/rls/requests.h"

#include <fmt/format.h>

namespace weir::bench {
namespace {

// The texts here have less than 128 bytes, so that each length is one byte.
std::string Delimited(int field, std::string_view bytes) {
  std::string encoded = {static_cast<char>(field << 3 | 2), static_cast<char>(bytes.size())};
  return encoded.append(bytes);
}

}  // namespace

std::string RateLimitMessage(std::string_view domain, std::string_view key,
                             std::string_view value) {
  const std::string entry = Delimited(1, key) + Delimited(2, value);
  const std::string message = Delimited(1, domain) + Delimited(2, Delimited(1, entry));
  return std::string{0, 0, 0, 0, static_cast<char>(message.size())} + message;
}

std::vector<std::string> RateLimitMessages(std::size_t keys, std::size_t tight_of_ten) {
  std::vector<std::string> messages;
  for (std::size_t i = 0; i < keys; ++i) {
    messages.push_back(RateLimitMessage(IsTight(i, tight_of_ten) ? "tight" : "edge", "user",
                                        fmt::format("user-{}", i)));
  }
  return messages;
}

Verdict VerdictOf(std::string_view message) {
  constexpr std::size_t kCode = 6;  // behind the prefix and the field's tag
  if (message.size() <= kCode || message[kCode - 1] != 1 << 3) return Verdict::kNone;
  if (message[kCode] == 1) return Verdict::kOk;
  return message[kCode] == 2 ? Verdict::kOverLimit : Verdict::kNone;
}

}  // namespace weir::bench
