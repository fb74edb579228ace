#include "weir/aws/http/crt/crt_pool.h"

#include <aws/io/socket.h>
#include <aws/io/tls_channel_handler.h>
#include <fmt/format.h>

#include <limits>

#include "weir/aws/endpoint.h"
#include "weir/aws/http/crt/crt_proxy.h"
#include "weir/aws/http/keep_alive_probes.h"

namespace weir::internal {
namespace {

std::uint32_t ToMillis32(milliseconds wait) {
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(wait.count(), 1, kMost));
}

aws_socket_options SocketOptions(milliseconds connect_timeout) {
  aws_socket_options socket{};
  socket.type = AWS_SOCKET_STREAM;
  socket.domain = AWS_SOCKET_IPV4;
  socket.connect_timeout_ms = ToMillis32(connect_timeout);
  // A request is two short writes; the second must not be delayed until the first is acknowledged.
  socket.tcp_nodelay = AWS_SOCKET_TCP_NODELAY_ON;
  socket.keepalive = true;
  // aws-c-io sets TCP_KEEPIDLE from the "interval" and TCP_KEEPINTVL from the "timeout".
  socket.keep_alive_interval_sec = kProbeAfterSeconds;
  socket.keep_alive_timeout_sec = kProbeEverySeconds;
  socket.keep_alive_max_failed_probes = kMaxFailedProbes;
  return socket;
}

/// The TLS settings of a pool, with the name that the server must prove to have.
class TlsPeer {
 public:
  TlsPeer(aws_tls_ctx* context, const std::string& host, milliseconds handshake_timeout) {
    aws_tls_connection_options_init_from_ctx(&options_, context);
    options_.timeout_ms = ToMillis32(handshake_timeout);
    const aws_byte_cursor name = Cursor(host);
    named_ = aws_tls_connection_options_set_server_name(&options_, aws_default_allocator(),
                                                        &name) == AWS_OP_SUCCESS;
  }
  ~TlsPeer() { aws_tls_connection_options_clean_up(&options_); }
  TlsPeer(const TlsPeer&) = delete;
  TlsPeer& operator=(const TlsPeer&) = delete;

  bool named() const { return named_; }
  const aws_tls_connection_options* options() const { return &options_; }

 private:
  aws_tls_connection_options options_{};
  bool named_ = false;
};

}  // namespace

Result<std::unique_ptr<CrtPool>> CrtPool::Open(const CrtRuntime& runtime,
                                               const TransportOptions& options) {
  std::unique_ptr<CrtPool> pool(new CrtPool(runtime, options));
  WEIR_RETURN_IF_ERROR(pool->CreateManager(options));
  return pool;
}

CrtPool::CrtPool(const CrtRuntime& runtime, const TransportOptions& options)
    : runtime_(runtime),
      endpoint_(fmt::format("{}:{}", options.host, options.port)),
      authority_(HostHeader({.tls = options.tls, .host = options.host, .port = options.port})),
      max_response_bytes_(options.max_response_bytes),
      gives_up_(options.gives_up) {}

Status CrtPool::CreateManager(const TransportOptions& options) {
  const aws_socket_options socket = SocketOptions(options.connect_timeout);
  const TlsPeer peer(runtime_.tls(), options.host, options.connect_timeout);
  aws_http_connection_manager_options manager{};
  manager.bootstrap = runtime_.bootstrap();
  manager.initial_window_size = std::numeric_limits<std::size_t>::max();
  manager.socket_options = &socket;
  manager.tls_connection_options = options.tls ? peer.options() : nullptr;
  manager.host = Cursor(options.host);
  manager.port = options.port;
  manager.max_connections = options.max_connections;
  manager.max_pending_connection_acquisitions = options.max_waiting;
  manager.max_connection_idle_in_milliseconds = ToMillis32(options.idle_timeout);
  const CrtProxy proxy(options);
  proxy.Apply(manager);
  manager.shutdown_complete_callback = &ShutdownSignal::Raise;
  manager.shutdown_complete_user_data = &manager_gone_;
  if (peer.named()) {
    manager_.reset(aws_http_connection_manager_new(aws_default_allocator(), &manager));
  }
  if (manager_ != nullptr) return {};
  return Fail(Code::kInvalidArgument,
              fmt::format("HTTP endpoint '{}': {}", endpoint_, LastCrtError()));
}

CrtPool::~CrtPool() {
  {
    MutexLock lock(mutex_);
    while (inside_ > 0) empty_.wait(mutex_);
  }
  if (manager_ == nullptr) return;
  manager_.reset();
  manager_gone_.Wait();
}

void CrtPool::AddRequest() {
  const MutexLock lock(mutex_);
  ++inside_;
}

void CrtPool::RemoveRequest() {
  const MutexLock lock(mutex_);
  if (--inside_ == 0) empty_.notify_all();
}

}  // namespace weir::internal
