// What the rate limit services count.
#pragma once

#include <cstdint>

#include "weir/telemetry/counter.h"

namespace weir::service {

/// Counts requests. Any thread.
struct ServiceCounts {
  Counter ok;
  Counter over_limit;
  Counter errors;        ///< of the store, or of requests
  Counter denied;        ///< because of the token, or the lack of one; these are errors, too
  Counter pages_denied;  ///< requests of pages, because of the token, or the lack of one
  Counter overloaded;    ///< because of ServiceOptions::max_in_flight; these are errors, too
  Counter undecided;     ///< refused because the limits of a descriptor cannot be decided
  Counter lost_charges;  ///< requests whose charge without a decision, or return, failed
  Counter unprotected;   ///< admitted because the store was unavailable and the policy allows it
  Counter begun;         ///< well-formed requests
  Counter ended;         ///< of these, requests without an operation in flight any more

  /// Returns the number of requests that wait for the store, even if their caller has gone.
  std::uint64_t InFlight() const {
    const std::uint64_t ended_before = ended.Value();
    return begun.Value() - ended_before;
  }
};

}  // namespace weir::service
