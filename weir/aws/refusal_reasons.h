// The reasons that DynamoDB adds to the body of a rejection.
#pragma once

#include <string>
#include <string_view>

#include "weir/aws/failure.h"

namespace weir {

inline constexpr std::string_view kTransactionCancelled = "TransactionCanceledException";

/// Why a transaction was cancelled, and so not applied.
struct Cancellation {
  /// kConditional if the condition of an action failed: only the caller can act on that. Otherwise
  /// kPermanent if an action can never succeed (ValidationError and every unknown code), otherwise
  /// kThrottle if the throughput of an action was exceeded. kConditional if there was only a
  /// conflict, or no reason at all.
  FailureClass kind = FailureClass::kConditional;
  /// The service's message about the first action of that class; may be empty.
  std::string text;
};

/// Parses CancellationReasons in the body of a kTransactionCancelled.
Cancellation ReadCancellation(const std::string& body);

/// Returns true if the body of a throttled request says that the writes exceeded the throughput of
/// one key range of the table itself (ThrottlingReasons contains
/// TableWriteKeyRangeThroughputExceeded), not that of an index, of the whole table or of the
/// account. Returns false if the service gives no reasons.
bool IsTableKeyRangeThrottled(const std::string& body);

}  // namespace weir
