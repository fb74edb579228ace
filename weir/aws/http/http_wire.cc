#include "weir/aws/http/http_wire.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/optional.hpp>
#include <cstdint>
#include <limits>
#include <utility>

#include "weir/aws/http/crt/crt_handle.h"
#include "weir/codec/sized_text.h"

namespace weir::internal {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::beast::string_view;
using ErrorCode = boost::beast::error_code;

/// The fewest bytes that Beast can parse after the head: an empty chunk.
constexpr std::size_t kLeastChunk = 5;
constexpr std::string_view kEndOfLine = "\r\n";

bool IsVisible(char c) { return c > ' ' && c < '\x7f'; }

/// RFC 9110, 5.6.2.
bool IsToken(std::string_view text) {
  constexpr std::string_view kDelimiters = "\"(),/:;<=>?@[\\]{}";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return IsVisible(c) && !kDelimiters.contains(c);
  });
}

bool IsValue(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return c == '\t' || (static_cast<unsigned char>(c) >= ' ' && c != '\x7f');
  });
}

Status CheckRequest(const HttpRequest& request) {
  const bool is_line = IsToken(request.method) && request.path.starts_with('/') &&
                       std::ranges::all_of(request.path, IsVisible);
  if (!is_line) return Fail(Code::kInvalidArgument, "the method or the path is not valid in HTTP");
  for (const auto& [name, value] : request.headers) {
    if (IsToken(name) && IsValue(value)) continue;
    return Fail(Code::kInvalidArgument, "a header has a character that HTTP does not allow there");
  }
  return {};
}

template <class Sink>
void PutHeader(Sink& sink, std::string_view name, std::string_view value) {
  Put(sink, name);
  Put(sink, ": ");
  Put(sink, value);
  Put(sink, kEndOfLine);
}

}  // namespace

bool HasHeader(const HttpRequest& request, std::string_view name) {
  return std::ranges::find(request.headers, name, &HttpHeader::name) != request.headers.end();
}

Result<std::string> HeadOf(const HttpRequest& request, std::string_view authority) {
  WEIR_RETURN_IF_ERROR(CheckRequest(request));
  const bool has_host = HasHeader(request, "host");
  const bool has_length = HasHeader(request, "content-length");
  const fmt::format_int length(request.body.size());
  return WriteSized([&](auto& sink) {
    for (const std::string_view part :
         {std::string_view(request.method), std::string_view(" "), std::string_view(request.path),
          std::string_view(" HTTP/1.1\r\n")}) {
      Put(sink, part);
    }
    if (!has_host) PutHeader(sink, "host", authority);
    for (const auto& [name, value] : request.headers) PutHeader(sink, name, value);
    if (!has_length) PutHeader(sink, "content-length", {length.data(), length.size()});
    Put(sink, kEndOfLine);
  });
}

/// Beast calls the functions with names in _impl.
class ResponseReader::Parser final : public http::basic_parser<false> {
 public:
  explicit Parser(const Expected& expected) {
    eager(true);
    skip(expected.is_head);
    // Beast applies this limit to a single call; it does not add up earlier bytes.
    header_limit(kMaxFramingBytes);
    body_limit(expected.max_body_bytes);
  }

  HttpResponse response;

 private:
  void on_request_impl(http::verb, string_view, string_view, int, ErrorCode&) override {}
  void on_response_impl(int code, string_view, int, ErrorCode&) override { response.status = code; }
  void on_field_impl(http::field, string_view name, string_view value, ErrorCode&) override {
    if (is_header_done()) return;  // a trailer
    response.headers.push_back({LowerCase({name.data(), name.size()}), std::string(value)});
  }
  void on_header_impl(ErrorCode&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>& length, ErrorCode&) override {
    constexpr std::uint64_t kMaxReserved = 1 << 20;
    if (length) response.body.reserve(std::min(*length, kMaxReserved));
  }
  std::size_t on_body_impl(string_view part, ErrorCode&) override {
    response.body.append(part.data(), part.size());
    return part.size();
  }
  void on_chunk_header_impl(std::uint64_t, string_view, ErrorCode&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, string_view part, ErrorCode& error) override {
    return on_body_impl(part, error);
  }
  void on_finish_impl(ErrorCode&) override {}
};

ResponseReader::ResponseReader(const Expected& expected)
    : expected_(expected), parser_(std::make_unique<Parser>(expected)) {}
ResponseReader::~ResponseReader() = default;

ResponseReader::State ResponseReader::Feed(std::string_view bytes) {
  // Beast does not store the beginning of an incomplete line: unread_ stores it, to be parsed again
  // together with the next bytes.
  const bool has_unread = !unread_.empty();
  if (has_unread) bytes = unread_.append(bytes);
  const State state = ParseAll(bytes);
  has_excess_ = state == State::kComplete && !bytes.empty();
  if (has_unread) {
    unread_.erase(0, unread_.size() - bytes.size());
  } else {
    unread_ = bytes;
  }
  return state == State::kMore && HasTooMuchFraming() ? State::kTooMuchFraming : state;
}

ResponseReader::State ResponseReader::ParseAll(std::string_view& bytes) {
  State state = ParseBytes(bytes);
  while (state == State::kComplete && parser_->response.status / 100 == 1) {
    parser_ = std::make_unique<Parser>(expected_);
    state = bytes.empty() ? State::kMore : ParseBytes(bytes);
  }
  return state;
}

ResponseReader::State ResponseReader::ParseBytes(std::string_view& bytes) {
  // One put parses no more than the head or a part of a body.
  while (!bytes.empty() && !parser_->is_done()) {
    // Beast asserts that it gets at least this size once it has seen a part of the last chunk.
    if (parser_->is_header_done() && !unread_.empty() && bytes.size() < kLeastChunk) break;
    ErrorCode error;
    const std::size_t count = parser_->put(asio::const_buffer(bytes.data(), bytes.size()), error);
    bytes.remove_prefix(count);
    taken_ += count;
    if (error == http::error::need_more) return State::kMore;
    if (error == http::error::body_limit) return State::kTooLong;
    if (error == http::error::header_limit) return State::kTooMuchFraming;
    if (error) return State::kMalformed;
  }
  return parser_->is_done() ? State::kComplete : State::kMore;
}

bool ResponseReader::HasTooMuchFraming() const {
  return taken_ + unread_.size() - parser_->response.body.size() > kMaxFramingBytes;
}

ResponseReader::State ResponseReader::End() {
  ErrorCode error;
  if (parser_->is_header_done()) parser_->put_eof(error);
  return !error && parser_->is_done() ? State::kComplete : State::kMalformed;
}

bool ResponseReader::keeps_alive() const { return parser_->keep_alive() && !has_excess_; }

HttpResponse ResponseReader::Take() { return std::move(parser_->response); }

}  // namespace weir::internal
