// The difference between the service's clock and ours. A signature is only valid near its time.
#pragma once

#include <optional>
#include <string_view>

#include "weir/base/time.h"

namespace weir {

/// Parses the date of an HTTP header: "Sun, 06 Nov 1994 08:49:37 GMT" (IMF-fixdate of RFC 9110,
/// formerly RFC 1123), in exactly this form; the name of the day is not checked. Returns nothing
/// for any other text.
std::optional<UnixMillis> ParseHttpDate(std::string_view text);

/// A larger difference is corrected at once. (The services refuse signatures at five minutes.)
inline constexpr milliseconds kTolerableSkew = std::chrono::minutes(4);

/// The longest time between the signing of a request and its sending. Together with the tolerated
/// difference and the way to the service this stays below the five minutes.
inline constexpr milliseconds kSignatureLife = std::chrono::seconds(45);

/// Follows the latest response, so that it also notices that our clock was set. Not thread-safe.
class ClockSkew {
 public:
  /// A response with the date `server` was received when our clock showed `wall`.
  void Observe(UnixMillis server, UnixMillis wall) { difference_ = server - wall; }
  /// The service has refused our time: from now on any difference is corrected.
  void OnRefused() { refused_ = true; }

  /// The server's clock minus ours.
  milliseconds difference() const { return difference_; }
  /// Returns the time to sign with when our clock shows `wall`.
  UnixMillis SigningTime(UnixMillis wall) const;

 private:
  milliseconds difference_{0};
  bool refused_ = false;
};

}  // namespace weir
