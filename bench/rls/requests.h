// The messages of the benchmark, encoded once.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weir::bench {

/// Returns an uncompressed gRPC message with a RateLimitRequest (envoy.service.ratelimit.v3) of one
/// descriptor with one entry, as Envoy encodes it.
std::string RateLimitMessage(std::string_view domain, std::string_view key, std::string_view value);

/// Returns the messages of `keys` users, in the order in which the benchmark sends them: of ten in
/// a row, `tight_of_ten` are of the domain `tight`, whose limits refuse them, and the others of
/// `edge`.
std::vector<std::string> RateLimitMessages(std::size_t keys, std::size_t tight_of_ten);

/// Returns whether the message with this number is of the domain `tight`.
constexpr bool IsTight(std::size_t key, std::size_t tight_of_ten) {
  return key % 10 < tight_of_ten;
}

/// The content of a response: the overall code of its RateLimitResponse.
enum class Verdict { kOk, kOverLimit, kNone };

/// Reads the first bytes of a response message. All servers write the overall code first.
Verdict VerdictOf(std::string_view message);

}  // namespace weir::bench
