// Requests and responses of HTTP/1.1 as bytes.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "weir/aws/http.h"
#include "weir/base/result.h"

namespace weir::internal {

/// `name` in lower case.
bool HasHeader(const HttpRequest& request, std::string_view name);

/// Request line and headers, with the empty line; host (`authority`) and content-length are added
/// unless the request has them. kInvalidArgument: a part of it would be read as something else.
Result<std::string> HeadOf(const HttpRequest& request, std::string_view authority);

/// What a response may have besides the bytes of its body: status lines, headers, interim
/// responses, lines of chunks, trailers.
inline constexpr std::size_t kMostFramingBytes = 256 * 1024;

/// Reads one response (RFC 9112). Interim ones (1xx) are skipped, trailers are read and dropped.
/// Any bytes are allowed. Not thread-safe.
class ResponseReader {
 public:
  enum class State { kMore, kComplete, kMalformed, kTooLong, kTooMuchFraming };
  struct Expected {
    bool is_head = false;  ///< the response to HEAD, which has no body whatever its headers say
    std::size_t most_body_bytes = 0;
  };

  /// A longer body is kTooLong; more than kMostFramingBytes besides it are kTooMuchFraming.
  explicit ResponseReader(const Expected& expected);
  ~ResponseReader();
  ResponseReader(const ResponseReader&) = delete;
  ResponseReader& operator=(const ResponseReader&) = delete;

  /// The next bytes of the connection. REQUIRES: the last state was kMore.
  State Feed(std::string_view bytes);
  /// The server closed the connection, which ends a body without length.
  State End();

  // REQUIRES: kComplete.
  /// Whether the connection may carry another request.
  bool keeps_alive() const;
  HttpResponse Take();

 private:
  class Parser;
  State ParseAll(std::string_view& bytes);
  State Parse(std::string_view& bytes);
  bool HasTooMuchFraming() const;

  const Expected expected_;
  std::unique_ptr<Parser> parser_;
  std::string unread_;     ///< of a line that is not complete
  std::size_t taken_ = 0;  ///< bytes that the parsers have taken
  bool has_excess_ = false;
};

}  // namespace weir::internal
