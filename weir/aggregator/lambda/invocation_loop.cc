#include "weir/aggregator/lambda/invocation_loop.h"

#include <algorithm>
#include <utility>

#include "weir/runtime/await.h"

namespace weir::dynamo {
namespace {

// A damaged deadline must not overflow.
constexpr milliseconds kLongestInvocation = std::chrono::hours(1);

void LogAbout(const InvocationLoop& loop, LogLevel level, std::string_view event,
              const std::string& request, const Error& error) {
  const LogField fields[] = {{"request", std::string_view(request)},
                             {"message", std::string_view(error.message)}};
  loop.log.Write(level, event, fields);
}

Status Serve(const InvocationLoop& loop, Invocation invocation) {
  const Deadline deadline = ResponseDeadline(invocation.deadline, loop.clock);
  Result<std::string> response = Await<std::string>([&](Done<std::string> done) {
    loop.handle({.id = invocation.id, .event = std::move(invocation.event), .deadline = deadline},
                std::move(done));
  });
  if (response) return loop.runtime.Respond(invocation, *std::move(response));
  LogAbout(loop, LogLevel::kError, "lambda.invocation_failed", invocation.id, response.error());
  return loop.runtime.ReportError(invocation, response.error());
}

}  // namespace

Deadline ResponseDeadline(UnixMillis deadline, const Clock& clock) {
  const milliseconds left = std::clamp(milliseconds(deadline.value - clock.WallNow().value),
                                       milliseconds(0), kLongestInvocation);
  return Deadline::At(clock.Now() + left - kResponseMargin);
}

Error ServeInvocations(const InvocationLoop& loop) {
  while (true) {
    Result<Invocation> invocation = loop.runtime.Next();
    if (!invocation) return std::move(invocation.error());
    const std::string id = invocation->id;
    const Status reported = Serve(loop, *std::move(invocation));
    if (reported) continue;
    if (reported.error().code != Code::kFailedPrecondition) return reported.error();
    LogAbout(loop, LogLevel::kWarning, "lambda.report_refused", id, reported.error());
  }
}

}  // namespace weir::dynamo
