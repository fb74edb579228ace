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

/// There is no response. For a retry it matters whether the server may have seen the request.
struct HttpFailure {
  bool maybe_sent = false;  ///< false: certainly no byte of it left this machine
  bool timed_out = false;   ///< a limit ended it; if not maybe_sent, before it was sent
  std::string message;      ///< one line: the cause and the host
};

/// Limits on the time of one request. The first one to pass ends it.
struct WEIR_API SendLimits {
  Deadline deadline = Deadline::Never();
  /// The request is sent only if it has a connection by then.
  Deadline begin_by = Deadline::Never();
  /// For sending and the whole response, from when the request has a connection. Waiting for a
  /// connection, in the queue or while one is made, counts only against the two deadlines.
  nanoseconds answer_within = nanoseconds::max();

  Deadline LatestBegin() const { return std::min(deadline, begin_by); }
  /// Returns the end of a request that has its connection at `begun`.
  Deadline EndOf(Instant begun) const {
    const bool endless = answer_within >= Deadline::Never().at() - begun;
    return endless ? deadline : std::min(deadline, Deadline::At(begun + answer_within));
  }
};

using HttpDone = std::move_only_function<void(tl::expected<HttpResponse, HttpFailure>)>;

/// Sends requests to the endpoint it was made for. Thread-safe. Never sends a request twice, and
/// never follows a redirect. `done` runs exactly once: before Send returns, or later on a thread of
/// the transport or on one that blocks in Await after it called Send; under no lock, and at the
/// latest soon after the limit that ends the request.
class WEIR_API HttpTransport {
 public:
  virtual ~HttpTransport() = default;
  virtual void Send(HttpRequest request, SendLimits limits, HttpDone done) = 0;
};

}  // namespace weir
