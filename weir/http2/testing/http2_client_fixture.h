// A client of an HTTP/2 connection for tests, on nghttp2's own client: the bytes of both sides are
// moved by the test.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/base/time.h"
#include "weir/transport/connection.h"

namespace weir::http2 {

using Fields = std::vector<std::pair<std::string, std::string>>;

/// A response as the client has received it.
struct Response {
  std::map<std::string, std::string> fields;  ///< `:status`, headers and trailers
  std::string body;
  bool is_complete = false;
  std::optional<std::uint32_t> reset;  ///< the error code with which the stream ended
};

class Http2Client {
 public:
  /// The server may send `window` bytes of a body until the client takes more.
  explicit Http2Client(transport::Connection& server, std::uint32_t window = 65'535);
  ~Http2Client();
  Http2Client(const Http2Client&) = delete;
  Http2Client& operator=(const Http2Client&) = delete;

  /// Begins a request and returns the id of its stream. Without `is_end`, Send follows.
  std::int32_t Begin(const Fields& fields, bool is_end);
  /// Begins a POST request with this body, which is all of it.
  std::int32_t Post(std::string_view path, std::string body, const Fields& more = {});
  void Send(std::int32_t id, std::string_view bytes, bool is_end);
  void Reset(std::int32_t id);
  void Ping();

  /// Moves bytes both ways until neither side has any, at `now`.
  void Exchange(Instant now);
  /// Bytes that are written to the server as they are.
  void Raw(std::string_view bytes, Instant now);

  const Response& response(std::int32_t id) { return responses_[id]; }
  /// The error codes and last stream ids of the GOAWAY frames, in order.
  const std::vector<std::pair<std::uint32_t, std::int32_t>>& goaways() const { return goaways_; }
  int pings() const { return pings_; }

 private:
  friend struct ClientCallbacks;
  struct Upload {
    std::string bytes;
    bool is_end = false;
  };

  transport::Connection& server_;
  nghttp2_session* session_ = nullptr;
  std::map<std::int32_t, Response> responses_;
  std::map<std::int32_t, Upload> uploads_;
  std::vector<std::pair<std::uint32_t, std::int32_t>> goaways_;
  int pings_ = 0;  // from the server
};

}  // namespace weir::http2
