// How far the service's clock is from ours. A signature is believed only near its time.
#pragma once

#include <optional>
#include <string_view>

#include "weir/base/time.h"

namespace weir {

/// The date of an HTTP header: "Sun, 06 Nov 1994 08:49:37 GMT" (IMF-fixdate of RFC 9110, once RFC
/// 1123), exactly so; the name of the day may be any. Nothing for all else.
std::optional<UnixMillis> ParseHttpDate(std::string_view text);

/// A larger difference is corrected at once. (The services refuse at five minutes.)
inline constexpr milliseconds kTolerableSkew = std::chrono::minutes(4);

/// A signed request is sent so long after its signing at the most. With the difference that is
/// tolerated, and the way to the service, that stays below the five minutes.
inline constexpr milliseconds kSignatureLife = std::chrono::seconds(45);

/// A value. Believes the latest answer, so it also notices that our clock was set.
class ClockSkew {
 public:
  /// An answer that says `server` came when our clock said `wall`.
  void Observe(UnixMillis server, UnixMillis wall) { difference_ = server - wall; }
  /// The service refused our time: from now on any difference is corrected.
  void OnRefused() { refused_ = true; }

  /// Server's minus ours.
  milliseconds difference() const { return difference_; }
  /// The time to sign with when our clock says `wall`.
  UnixMillis SigningTime(UnixMillis wall) const;

 private:
  milliseconds difference_{0};
  bool refused_ = false;
};

}  // namespace weir
