// Serves the invocations of a Lambda function, one after the other.
#pragma once

#include <functional>

#include "weir/aggregator/lambda/runtime_client.h"
#include "weir/aggregator/lambda/stream_function.h"
#include "weir/telemetry/log.h"

namespace weir::dynamo {

/// The time between a response and the instant at which Lambda ends the process.
inline constexpr milliseconds kResponseMargin{500};

/// Returns the latest time for the response, by the monotonic clock. It has passed already if the
/// invocation's deadline is nearer than kResponseMargin.
Deadline ResponseDeadline(UnixMillis deadline, const Clock& clock);

/// All of it must outlive the call of ServeInvocations.
struct InvocationLoop {
  RuntimeClient& runtime;
  const Clock& clock;
  /// Receives "lambda.invocation_failed" (error: request, message) and "lambda.report_refused"
  /// (warning: request, message).
  Log& log;
  /// As StreamFunction::Handle.
  std::function<void(StreamInvocation invocation, Done<std::string> done)> handle;
};

/// Blocks until the runtime API fails, and returns the error. A report that Lambda refuses is
/// only logged: the invocation has ended, and its records are delivered again.
Error ServeInvocations(const InvocationLoop& loop);

}  // namespace weir::dynamo
