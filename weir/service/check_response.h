// Envoy's response to a request whose decisions have been made.
#pragma once

#include <absl/container/inlined_vector.h>

#include <optional>
#include <span>
#include <string>

#include "weir/service/active_rules.h"
#include "weir/service/descriptor_plan.h"
#include "weir/service/descriptor_status.h"

namespace weir::service {

/// The result of one descriptor.
struct DescriptorResult {
  bool is_over = false;       ///< false for a shadow rule
  bool is_pending = false;    ///< the response does not wait for it, and it has not ended
  bool is_undecided = false;  ///< it could not be decided, or its charge failed
  std::optional<DescriptorState> state;
};

using DescriptorResults = absl::InlinedVector<DescriptorResult, 1>;

/// Returns the bytes of a RateLimitResponse with a status for each result, or with the overall code
/// alone. `plan[i]` belongs to `results[i]`. The overall code is OVER_LIMIT if `is_refused`.
std::string ResponseBytes(std::span<const PlannedDescriptor> plan,
                          std::span<const DescriptorResult> results, bool is_refused);
std::string ResponseBytes(bool is_refused);

}  // namespace weir::service
