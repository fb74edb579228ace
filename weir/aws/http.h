// One HTTP exchange with one endpoint: the seam between AWS's protocols and the network.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "weir/runtime/deadline.h"

namespace weir {

struct HttpHeader {
  std::string name;  ///< in lower case
  std::string value;

  friend bool operator==(const HttpHeader&, const HttpHeader&) = default;
};

/// `path` with its query, both encoded. The transport adds host and content-length itself where
/// they are missing.
struct HttpRequest {
  std::string method = "POST";
  std::string path = "/";
  std::vector<HttpHeader> headers;
  std::string body;
};

struct HttpResponse {
  int status = 0;
  std::vector<HttpHeader> headers;  ///< names in lower case
  std::string body;

  /// The first of that name, or null.
  const std::string* Header(std::string_view name) const;
};

/// No answer came. What matters for trying again is whether the server may have seen the request.
struct HttpFailure {
  bool maybe_sent = false;  ///< false: surely no byte of it left this machine
  bool timed_out = false;   ///< one of its limits ended it; not maybe_sent: before it was begun
  std::string message;      ///< one line: what, and with which host
};

/// How long one request may take. Whatever comes first ends it.
struct SendLimits {
  Deadline deadline = Deadline::Never();
  /// It is sent only if it has a connection by then.
  Deadline begin_by = Deadline::Never();
  /// For sending it and for all of its answer, counted from when it has a connection. What it waits
  /// for one, in this process or while one is made, counts against the two deadlines alone.
  nanoseconds answer_within = nanoseconds::max();

  Deadline LatestBegin() const { return std::min(deadline, begin_by); }
  /// When it ends if it has its connection at `begun`.
  Deadline EndOf(Instant begun) const {
    const bool endless = answer_within >= Deadline::Never().at() - begun;
    return endless ? deadline : std::min(deadline, Deadline::At(begun + answer_within));
  }
};

using HttpDone = std::move_only_function<void(tl::expected<HttpResponse, HttpFailure>)>;

/// Sends requests to the endpoint it was made for. Thread-safe. Never sends a request twice, never
/// follows a redirect. `done` runs exactly once: before Send returns, or later on a thread of the
/// transport's or on one that blocks in Await after it called Send; under no lock, at the latest
/// soon after the limit that ends it.
class HttpTransport {
 public:
  virtual ~HttpTransport() = default;
  virtual void Send(HttpRequest request, SendLimits limits, HttpDone done) = 0;
};

}  // namespace weir
