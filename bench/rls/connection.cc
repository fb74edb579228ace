#include "bench/rls/connection.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace weir::bench {
namespace {

constexpr std::size_t kChunk = 65'536;
constexpr std::size_t kReplyStart = 16;

[[noreturn]] void Die(std::string_view what, int error) {
  fmt::print(stderr, "weir_rls_client: {}: {}\n", what, std::strerror(error));
  std::exit(1);  // NOLINT: the program has one thread
}

nghttp2_nv FieldOf(std::string_view name, std::string_view value) {
  const auto bytes = [](std::string_view text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));  // NOLINT
  };
  return {bytes(name), bytes(value), name.size(), value.size(),
          NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE};
}

}  // namespace

struct RlsConnection::Call {
  std::string_view message;  // not sent yet
  std::array<char, kReplyStart> reply;
  std::size_t reply_size = 0;
  CallResult result;
};

/// The functions that nghttp2 calls.
struct RlsCallbacks {
  using Call = RlsConnection::Call;

  static Call* CallOf(nghttp2_session* session, std::int32_t id) {
    return static_cast<Call*>(nghttp2_session_get_stream_user_data(session, id));
  }
  static ssize_t ReadBody(nghttp2_session*, std::int32_t, std::uint8_t* buffer, std::size_t length,
                          std::uint32_t* flags, nghttp2_data_source* source, void*) {
    std::string_view& message = static_cast<Call*>(source->ptr)->message;
    const std::size_t count = std::min(length, message.size());
    std::memcpy(buffer, message.data(), count);
    message.remove_prefix(count);
    if (message.empty()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(count);
  }
  static int OnHeader(nghttp2_session* session, const nghttp2_frame* frame,
                      const std::uint8_t* name, std::size_t name_size, const std::uint8_t* value,
                      std::size_t value_size, std::uint8_t, void*) {
    constexpr std::string_view kStatus = "grpc-status";
    if (name_size != kStatus.size() || std::memcmp(name, kStatus.data(), name_size) != 0) return 0;
    Call* call = CallOf(session, frame->hd.stream_id);
    if (call == nullptr) return 0;
    int status = 0;
    for (std::size_t i = 0; i < value_size; ++i) status = status * 10 + (value[i] - '0');
    call->result.grpc_status = status;
    return 0;
  }
  static int OnData(nghttp2_session* session, std::uint8_t, std::int32_t id,
                    const std::uint8_t* data, std::size_t size, void*) {
    Call* call = CallOf(session, id);
    if (call == nullptr) return 0;
    const std::size_t count = std::min(size, kReplyStart - call->reply_size);
    std::memcpy(call->reply.data() + call->reply_size, data, count);
    call->reply_size += count;
    return 0;
  }
  static int OnClose(nghttp2_session* session, std::int32_t id, std::uint32_t, void* user) {
    Call* call = CallOf(session, id);
    if (call != nullptr) static_cast<RlsConnection*>(user)->End(*call);
    return 0;
  }
};

RlsConnection::RlsConnection(transport::UniqueFd socket, std::string authority, std::string timeout,
                             Completed completed)
    : socket_(std::move(socket)),
      authority_(std::move(authority)),
      timeout_(std::move(timeout)),
      completed_(std::move(completed)) {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, RlsCallbacks::OnHeader);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, RlsCallbacks::OnData);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, RlsCallbacks::OnClose);
  nghttp2_session_client_new(&session_, callbacks, this);
  nghttp2_session_callbacks_del(callbacks);
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, nullptr, 0);
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, 1 << 28);
  fields_ = {FieldOf(":method", "POST"),
             FieldOf(":path", "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"),
             FieldOf(":authority", authority_),
             FieldOf(":scheme", "http"),
             FieldOf("te", "trailers"),
             FieldOf("grpc-timeout", timeout_),
             FieldOf("content-type", "application/grpc"),
             FieldOf("x-envoy-internal", "true"),
             FieldOf("x-forwarded-for", "127.0.0.1")};
}

RlsConnection::~RlsConnection() { nghttp2_session_del(session_); }

void RlsConnection::Send(std::string_view message, std::size_t key, SteadyTime due) {
  if (free_.empty()) free_.push_back(calls_.emplace_back(std::make_unique<Call>()).get());
  Call& call = *free_.back();
  free_.pop_back();
  ++in_flight_;
  call.message = message;
  call.reply_size = 0;
  call.result = {.due = due, .key = key};
  const nghttp2_data_provider body{.source = {.ptr = &call},
                                   .read_callback = RlsCallbacks::ReadBody};
  const std::int32_t id =
      nghttp2_submit_request(session_, nullptr, fields_.data(), fields_.size(), &body, &call);
  if (id < 0) Die("a request was not accepted", EPROTO);
}

void RlsConnection::End(Call& call) {
  call.result.verdict = VerdictOf({call.reply.data(), call.reply_size});
  --in_flight_;
  free_.push_back(&call);
  const CallResult result = call.result;  // Send may use the call again
  completed_(*this, result);
}

void RlsConnection::Flush() {
  while (true) {
    while (output_.size() < kChunk) {
      const std::uint8_t* bytes = nullptr;
      const ssize_t count = nghttp2_session_mem_send(session_, &bytes);
      if (count < 0) Die("sending frames", EPROTO);
      if (count == 0) break;
      output_.append(reinterpret_cast<const char*>(bytes),  // NOLINT
                     static_cast<std::size_t>(count));
    }
    if (output_.empty()) return;
    const ssize_t sent = send(fd(), output_.data(), output_.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) Die("sending", errno);
    if (sent <= 0) return;
    output_.erase(0, static_cast<std::size_t>(sent));
  }
}

void RlsConnection::Receive() {
  std::array<std::uint8_t, kChunk> bytes;  // NOLINT: not initialized, since recv fills it
  while (true) {
    const ssize_t count = recv(fd(), bytes.data(), bytes.size(), 0);
    if (count == 0) Die("the server has closed a connection", ECONNRESET);
    if (count < 0 && errno != EAGAIN) Die("receiving", errno);
    if (count < 0) return;
    if (nghttp2_session_mem_recv(session_, bytes.data(), static_cast<std::size_t>(count)) < 0) {
      Die("receiving frames", EPROTO);
    }
    if (static_cast<std::size_t>(count) < bytes.size()) return;
  }
}

transport::UniqueFd ConnectToLoopback(std::uint16_t port) {
  transport::UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address),  // NOLINT
              sizeof(address)) != 0) {
    Die(fmt::format("connecting to port {}", port), errno);
  }
  const int on = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  fcntl(socket.get(), F_SETFL, O_NONBLOCK);  // NOLINT
  return socket;
}

}  // namespace weir::bench
