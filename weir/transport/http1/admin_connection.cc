#include "weir/transport/http1/admin_connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/status.hpp>
#include <iterator>
#include <utility>

namespace weir::transport {
namespace {

namespace http = boost::beast::http;
using RequestParser = http::request_parser<http::empty_body>;

constexpr Instant kNoDeadline{INT64_MAX};
constexpr std::string_view kEndOfHead = "\r\n\r\n";
/// Bounds the requests that a peer sends before it has the pages of earlier ones. The session goes
/// on reading while a page is not ready, and serving takes one request at a time.
constexpr std::size_t kMaxInput = 64 * 1024;

std::string_view ReasonOf(int status) {
  const auto reason = http::obsolete_reason(static_cast<http::status>(status));
  return {reason.data(), reason.size()};
}

std::string_view ViewOf(boost::beast::string_view text) { return {text.data(), text.size()}; }

/// Returns whether Beast parses the head, and the head names its host as RFC 9112, 3.2 requires.
bool IsRequest(RequestParser& parser, std::string_view head) {
  boost::beast::error_code error;
  parser.eager(false);
  parser.put(boost::asio::const_buffer(head.data(), head.size()), error);
  if (error || !parser.is_header_done()) return false;
  return parser.get().version() < 11 || parser.get().count(http::field::host) == 1;
}

std::string_view AuthorizationOf(const RequestParser& parser) {
  if (parser.get().count(http::field::authorization) != 1) return {};
  return ViewOf(parser.get()[http::field::authorization]);
}

/// A transfer coding other than chunked is a body too: its end is unknown, so that its bytes would
/// be taken for the next request (RFC 9112, 6.3).
bool HasBody(const RequestParser& parser) {
  return parser.get().count(http::field::transfer_encoding) > 0 ||
         parser.content_length().value_or(0) > 0;
}

}  // namespace

AdminConnection::AdminConnection(const AdminHandler& handler, const AdminOptions& options,
                                 Instant now)
    : handler_(handler), options_(options), now_(now), deadline_(now + options.head_timeout) {}

void AdminConnection::Receive(std::string_view bytes, Instant now) {
  now_ = now;
  if (is_closing_) return;
  if (!std::exchange(in_head_, true)) deadline_ = now + options_.head_timeout;
  input_.append(bytes);
  if (input_.size() > kMaxInput) return Refuse(429);
  Serve();
}

void AdminConnection::OnSent(std::size_t count, Instant now) {
  output_.erase(0, count);
  if (!output_.empty() || is_closing_) return;
  in_head_ = !input_.empty();
  deadline_ = now + (in_head_ ? options_.head_timeout : options_.idle_timeout);
  if (in_head_) serve_at_ = now;
}

void AdminConnection::OnPeerClosed(Instant) { is_closing_ = true; }

void AdminConnection::OnTime(Instant now) {
  now_ = now;
  if (serve_at_ && *serve_at_ <= now) Serve();
  if (now < deadline_) return;
  deadline_ = kNoDeadline;
  is_late_ = !output_.empty();
  if (is_late_ || is_closing_) return;
  input_.empty() ? void(is_closing_ = true) : Refuse(408);
}

void AdminConnection::Drain(Instant) { is_closing_ = true; }

void AdminConnection::Serve() {
  serve_at_.reset();
  if (!output_.empty() || is_closing_) return;
  // Empty lines before a request are skipped (RFC 9112, 2.2).
  input_.erase(0, std::min(input_.find_first_not_of("\r\n"), input_.size()));
  const std::size_t end = input_.find(kEndOfHead);
  const std::size_t size = end == std::string::npos ? input_.size() : end + kEndOfHead.size();
  if (size > options_.max_head_bytes) return Refuse(431);
  if (end == std::string::npos) return;
  const std::string head = input_.substr(0, size);
  input_.erase(0, size);
  Respond(head);
}

void AdminConnection::Respond(std::string_view head) {
  RequestParser parser;
  if (!IsRequest(parser, head)) return Refuse(400);
  if (HasBody(parser)) return Refuse(413);
  const http::verb method = parser.get().method();
  if (method != http::verb::get && method != http::verb::head) {
    return Refuse(405, "allow: GET, HEAD\r\n");
  }
  const AdminResponse response = handler_({.method = ViewOf(parser.get().method_string()),
                                           .target = ViewOf(parser.get().target()),
                                           .authorization = AuthorizationOf(parser)});
  is_closing_ = parser.get().version() < 11 || !parser.keep_alive();
  Write(response, response.status == 401 ? "www-authenticate: Bearer\r\n" : std::string_view(),
        method != http::verb::head);
}

void AdminConnection::Refuse(int status, std::string_view more_headers) {
  is_closing_ = true;
  input_.clear();
  Write({.status = status, .body = fmt::format("{}\n", ReasonOf(status))}, more_headers, true);
}

void AdminConnection::Write(const AdminResponse& response, std::string_view more_headers,
                            bool has_body) {
  // The driver bounds the time without progress only.
  deadline_ = now_ + options_.response_timeout;
  fmt::format_to(std::back_inserter(output_),
                 "HTTP/1.1 {} {}\r\ncontent-type: {}\r\ncontent-length: {}\r\n"
                 "cache-control: no-store\r\n{}{}\r\n{}",
                 response.status, ReasonOf(response.status), response.content_type,
                 response.body.size(), more_headers, is_closing_ ? "connection: close\r\n" : "",
                 has_body ? std::string_view(response.body) : std::string_view());
}

}  // namespace weir::transport
