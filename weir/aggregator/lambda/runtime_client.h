// A client of the API between AWS Lambda and the program of a function.
//
// Format: AWS Lambda Developer Guide, "Using the Lambda runtime API for custom runtimes",
// version 2018-06-01.
#pragma once

#include <string>
#include <string_view>

#include "weir/aws/http/http.h"
#include "weir/base/result.h"
#include "weir/base/time.h"

namespace weir {

/// One call of the function.
struct Invocation {
  std::string id;
  UnixMillis deadline;  ///< Lambda ends the process then
  std::string event;    ///< at most 6 MB
};

/// Each call blocks. Not thread-safe.
class RuntimeClient {
 public:
  /// `transport` connects to the host of AWS_LAMBDA_RUNTIME_API. `transport` and `clock` must
  /// outlive the client.
  RuntimeClient(HttpTransport& transport, const Clock& clock)
      : transport_(transport), clock_(clock) {}

  /// Waits for the next invocation, without a limit: Lambda suspends the process in the meantime.
  /// After an error the process should end, so that Lambda starts another.
  [[nodiscard]] Result<Invocation> Next();

  // These return kFailedPrecondition if Lambda refuses the report, for example because the
  // invocation has ended, and kUnavailable if Lambda fails or does not respond within three
  // seconds.
  [[nodiscard]] Status Respond(const Invocation& invocation, std::string response);
  [[nodiscard]] Status ReportError(const Invocation& invocation, const Error& error);
  /// Reports that the process cannot serve any invocation. The process should end then.
  [[nodiscard]] Status ReportInitError(const Error& error);

 private:
  Result<HttpResponse> Send(HttpRequest request, const SendLimits& limits);
  Status Post(std::string path, std::string body, std::string_view error_type);

  HttpTransport& transport_;
  const Clock& clock_;
};

}  // namespace weir
