// HTTP/1.1 requests and responses as bytes.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "weir/aws/http/http.h"
#include "weir/base/result.h"

namespace weir::internal {

/// REQUIRES: `name` is in lower case.
bool HasHeader(const HttpRequest& request, std::string_view name);

/// Returns the request line and the headers, with the empty line; host (`authority`) and
/// content-length are added if the request does not have them. Returns kInvalidArgument if a part
/// of the request would be parsed as something else.
Result<std::string> HeadOf(const HttpRequest& request, std::string_view authority);

/// The most bytes of a response other than its body: status lines, headers, interim responses,
/// chunk headers, trailers.
inline constexpr std::size_t kMaxFramingBytes = 256 * 1024;

/// Parses one response (RFC 9112). Interim responses (1xx) are skipped, trailers are discarded. Any
/// input is allowed. Not thread-safe.
class ResponseReader {
 public:
  enum class State { kMore, kComplete, kMalformed, kTooLong, kTooMuchFraming };
  struct Expected {
    bool is_head = false;  ///< the response to HEAD has no body, whatever its headers say
    std::size_t max_body_bytes = 0;
  };

  /// A longer body is kTooLong; more than kMaxFramingBytes of other data are kTooMuchFraming.
  explicit ResponseReader(const Expected& expected);
  ~ResponseReader();
  ResponseReader(const ResponseReader&) = delete;
  ResponseReader& operator=(const ResponseReader&) = delete;

  /// Parses the next bytes of the connection. REQUIRES: the last state was kMore.
  State Feed(std::string_view bytes);
  /// Called when the server has closed the connection, which ends a body without length.
  State End();

  // The following REQUIRE the state kComplete.
  /// Returns whether the connection may be used for another request.
  bool keeps_alive() const;
  HttpResponse Take();

 private:
  class Parser;
  /// Parses as much as it can, skips interim responses, and removes the parsed bytes from `bytes`.
  State ParseAll(std::string_view& bytes);
  /// Parses as much of one response as it can.
  State ParseBytes(std::string_view& bytes);
  bool HasTooMuchFraming() const;

  const Expected expected_;
  std::unique_ptr<Parser> parser_;
  std::string unread_;     ///< the beginning of an incomplete line
  std::size_t taken_ = 0;  ///< bytes that the parsers have consumed
  bool has_excess_ = false;
};

}  // namespace weir::internal
