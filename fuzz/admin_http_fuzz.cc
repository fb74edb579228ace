// The HTTP/1.1 of operators: whatever a client sends, in whatever parts, the connection stays
// within its bounds, serves at most one request at a time, and ends after a refusal.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/require.h"
#include "weir/transport/http1/admin_connection.h"

using weir::Instant;
using weir::Require;
using weir::transport::AdminConnection;
using weir::transport::AdminHandler;
using weir::transport::AdminOptions;
using weir::transport::AdminRequest;
using weir::transport::AdminResponse;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::size_t served = 0;
  const AdminHandler handler = [&](const AdminRequest& request) {
    ++served;
    Require(request.method == "GET" || request.method == "HEAD", "other methods are refused");
    Require(
        !request.target.empty() && request.target.find_first_of("\r\n ") == std::string_view::npos,
        "a target is a part of one line");
    Require(request.authorization.find_first_of("\r\n") == std::string_view::npos,
            "a header's value is a part of one line");
    return AdminResponse{.body = "a 1\n"};
  };
  const AdminOptions options{.max_head_bytes = 256};
  const Instant now{1'000'000};
  AdminConnection connection(handler, options, now);
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  while (!bytes.empty() && !connection.IsDone()) {
    // The first byte of a part is its length.
    const std::size_t length = std::size_t{1} + static_cast<unsigned char>(bytes[0]) % 64;
    const std::string_view part = bytes.substr(1, length);
    bytes.remove_prefix(1 + part.size());
    const std::size_t before = served;
    connection.Receive(part, now);
    Require(served <= before + 1, "a response is sent before the next request is served");
    while (!connection.Output().empty()) {
      Require(connection.Output().starts_with("HTTP/1.1 "), "an output is a response");
      connection.OnSent(connection.Output().size(), now);
    }
  }
  return 0;
}
