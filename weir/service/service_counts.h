// What the rate limit services count and log.
#pragma once

#include <cstdint>
#include <string_view>

#include "weir/base/time.h"
#include "weir/telemetry/counter.h"
#include "weir/telemetry/log.h"
#include "weir/telemetry/repeated_event.h"

namespace weir::service {

/// Counts requests. Any thread.
struct ServiceCounts {
  Counter ok;
  Counter over_limit;
  Counter errors;        ///< of the store, or of requests
  Counter denied;        ///< because of the token, or the lack of one; these are errors, too
  Counter overloaded;    ///< because of ServiceOptions::max_in_flight; these are errors, too
  Counter undecided;     ///< refused because the limits of a descriptor cannot be decided
  Counter lost_charges;  ///< requests whose charge without a decision, or return, failed
  Counter unprotected;   ///< admitted because the store was unavailable and the policy allows it
  Counter begun;         ///< well-formed requests
  Counter ended;         ///< those whose parts have all been decided

  /// Returns the requests that wait for the store, also those whose caller has gone.
  std::uint64_t InFlight() const {
    const std::uint64_t ended_before = ended.Value();
    return begun.Value() - ended_before;
  }
};

/// Logs why descriptors cannot be decided: "service.undecided" (warning: rule, message,
/// suppressed), at most once in 10 s. Any thread.
class UndecidedLog {
 public:
  /// `log` must outlive it.
  explicit UndecidedLog(Log& log) : log_(log) {}
  void Write(std::string_view rule, std::string_view message, Instant now);

 private:
  Log& log_;
  RepeatedEvent events_{std::chrono::seconds(10)};
};

}  // namespace weir::service
