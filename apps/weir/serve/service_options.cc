#include "apps/weir/serve/service_options.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "apps/weir/serve/cpu_limit.h"
#include "apps/weir/serve/process_setup.h"

namespace weir::app {
namespace {

constexpr std::size_t kAdminConnections = 100;
// Envoy takes headers of 60 KB from a client by default, and can forward them as metadata.
constexpr std::size_t kMaxHeaderList = 65'536;

http2::ConnectionBounds BoundsOf(const ServeOptions& options) {
  http2::ConnectionBounds bounds;
  bounds.max_streams = static_cast<std::uint32_t>(options.max_streams);
  bounds.max_header_list = kMaxHeaderList;
  bounds.idle = options.idle_timeout;
  bounds.request = options.request_timeout;
  bounds.age = options.connection_age;
  // Otherwise a connection ends before the drain does, while requests wait for the store.
  bounds.drain_grace = std::max({bounds.drain_grace, options.store_timeout, options.drain_timeout});
  return bounds;
}

// A connection can have the streams that it is promised, also while calls that the peer has given
// up are in flight, and several requests of the largest size.
grpc::ServerBounds CallBoundsOf(const ServeOptions& options) {
  grpc::ServerBounds bounds;
  bounds.max_message = options.max_message;
  bounds.max_kept = std::max(bounds.max_kept, 4 * options.max_message);
  bounds.max_calls = std::max(bounds.max_calls, 4 * options.max_streams);
  return bounds;
}

// At most: an inherited socket stays open, and the server that listens on it has a copy.
std::size_t ListenersOf(const service::RateLimitServerOptions& server) {
  return server.grpc.addresses.size() + server.admin.addresses.size() +
         2 * server.grpc.inherited.size();
}

}  // namespace

Result<service::RateLimitServerOptions> ServiceOptionsOf(const ServeOptions& options,
                                                         const ProcessContext& process,
                                                         std::size_t descriptors) {
  service::RateLimitServerOptions server;
  server.threads = options.threads > 0 ? options.threads : UsableCpus();
  server.connection = BoundsOf(options);
  server.age_jitter = options.connection_age / 10;
  server.calls = CallBoundsOf(options);
  server.service.store_timeout = std::chrono::ceil<milliseconds>(options.store_timeout);
  server.grpc.addresses = options.grpc;
  server.grpc.allow_plaintext = options.allow_plaintext;
  server.grpc.max_connections_per_peer = options.max_connections_per_peer;
  if (!options.tls_certificate.empty()) {
    server.grpc.tls =
        transport::TlsOptions{.certificate_file = options.tls_certificate,
                              .key_file = options.tls_key,
                              .client_ca_file = options.tls_client_ca,
                              .requires_client_certificate = !options.tls_client_ca.empty(),
                              .protocol = "h2"};
  }
  const auto read = [&process](const char* name) -> const char* {
    static thread_local std::string value;
    auto found = process.environment(name);
    if (!found) return nullptr;
    value = *std::move(found);
    return value.c_str();
  };
  WEIR_ASSIGN_OR_RETURN(server.grpc.inherited, transport::InheritedSockets(read, getpid()));
  server.admin.addresses = options.admin;
  server.admin.allow_plaintext = options.allow_plaintext;
  server.admin.tls_remedy =
      options.tls_certificate.empty() ? "tls-certificate, tls-key and admin-tls" : "admin-tls";
  // Probes and scrapers have tokens at most: no client certificate is asked for here.
  if (options.admin_tls) {
    server.admin.tls = transport::TlsOptions{.certificate_file = options.tls_certificate,
                                             .key_file = options.tls_key,
                                             .client_ca_file = {},
                                             .requires_client_certificate = false,
                                             .protocol = {}};
  }
  server.admin.max_connections = kAdminConnections;
  server.admin.max_connections_per_peer = kAdminConnections / 4;
  server.admin.inherited = server.grpc.inherited;
  server.grpc.max_connections = BoundConnections(options.max_connections, descriptors,
                                                 {.threads = server.threads,
                                                  .listeners = ListenersOf(server),
                                                  .admin_connections = kAdminConnections});
  return server;
}

}  // namespace weir::app
