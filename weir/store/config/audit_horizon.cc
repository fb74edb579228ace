#include "weir/store/config/audit_horizon.h"

#include <algorithm>
#include <chrono>

namespace weir {

AuditHorizon::AuditHorizon(State stored, nanoseconds boot, bool is_same_boot) : state_(stored) {
  if (!is_same_boot) state_.at = boot;
}

milliseconds AuditHorizon::Count(nanoseconds boot) {
  const auto passed = std::chrono::floor<milliseconds>(boot - state_.at);
  if (passed > milliseconds(0)) {
    state_.uptime += passed;
    state_.at += passed;  // the remainder of a millisecond counts in the next call
  }
  return state_.uptime;
}

milliseconds AuditHorizon::ExpiryOfNew(std::chrono::days retention) const {
  return state_.uptime + retention;
}

}  // namespace weir
