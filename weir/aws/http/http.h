// One HTTP exchange with one endpoint: the interface between AWS's protocols and the network.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "weir/base/api.h"
#include "weir/runtime/deadline.h"

namespace weir {

struct HttpHeader {
  std::string name;  ///< in lower case
  std::string value;

  friend bool operator==(const HttpHeader&, const HttpHeader&) = default;
};

/// `path` includes the query; both are percent-encoded. The transport adds host and content-length
/// if they are missing.
struct HttpRequest {
  std::string method = "POST";
  std::string path = "/";
  std::vector<HttpHeader> headers;
  std::string body;
};

struct WEIR_API HttpResponse {
  int status = 0;
  std::vector<HttpHeader> headers;  ///< names in lower case
  std::string body;

  /// Returns the value of the first header with that name, or null.
  const std::string* Header(std::string_view name) const;
};

/// Why a request got no response, and whether the server may have received the request, which
/// decides whether a retry is safe.
struct HttpFailure {
  bool maybe_sent = false;  ///< false: certainly no byte of the request left this machine
  /// A limit of SendLimits expired, or the transport gave up (TransportOptions::gives_up).
  bool timed_out = false;
  std::string message;  ///< one line: the cause and the host
};

/// Time limits of one request. The first limit to expire ends the request.
struct WEIR_API SendLimits {
  Deadline deadline = Deadline::Never();
  /// The request is sent only if it has a connection by then.
  Deadline begin_by = Deadline::Never();
  /// Maximum time from getting a connection until the whole response is received. Time spent queued
  /// or connecting is limited only by the two deadlines.
  nanoseconds response_timeout = nanoseconds::max();

  Deadline LatestBegin() const { return std::min(deadline, begin_by); }
  /// Returns the deadline of a request that got its connection at `connected_at`.
  Deadline DeadlineFrom(Instant connected_at) const {
    const bool endless = response_timeout >= Deadline::Never().at() - connected_at;
    return endless ? deadline : std::min(deadline, Deadline::At(connected_at + response_timeout));
  }
};

using HttpDone = std::move_only_function<void(tl::expected<HttpResponse, HttpFailure>)>;

/// Sends requests to the endpoint it was made for. Thread-safe. Never sends a request twice, and
/// never follows a redirect. `done` runs exactly once, either inside Send, or later on a thread of
/// the transport, or on a thread that called Send and is blocked in Await (runtime/await.h). The
/// transport holds no lock while `done` runs. `done` runs soon after the first limit has expired,
/// or earlier.
class WEIR_API HttpTransport {
 public:
  virtual ~HttpTransport() = default;
  virtual void Send(HttpRequest request, SendLimits limits, HttpDone done) = 0;
};

}  // namespace weir
