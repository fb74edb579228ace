#include "weir/kinesis/connection.h"

#include <fmt/format.h>

#include <utility>

#include "weir/kinesis/wire.h"

namespace weir::kinesis {
namespace {

std::string EndpointOf(const ProducerConfig& config) {
  return config.endpoint.empty() ? "" : fmt::format("https://{}:{}", config.endpoint, config.port);
}

std::optional<HttpProxy> ProxyOf(const ProducerConfig& config) {
  if (config.proxy_host.empty()) return std::nullopt;
  return HttpProxy{.host = config.proxy_host,
                   .port = static_cast<std::uint16_t>(config.proxy_port),
                   .user = config.proxy_user,
                   .password = config.proxy_password};
}

}  // namespace

ConnectionOptions ConnectionFor(const ProducerConfig& config) {
  return {.region = config.region,
          .endpoint_url = EndpointOf(config),
          .content_type = {},
          .connect_timeout = config.connect_timeout,
          .request_timeout = config.request_timeout,
          .max_connections = static_cast<std::size_t>(config.max_connections),
          .tls = {.ca_file = config.ca_file,
                  .ca_folder = config.ca_folder,
                  .verify_certificate = config.verify_certificate},
          .proxy = ProxyOf(config)};
}

Result<std::unique_ptr<ServiceConnection>> Connect(const ConnectionOptions& options,
                                                   const Clock& clock,
                                                   const Surroundings& surroundings) {
  ServiceConnectionOptions how;
  how.service = {.service = "kinesis",
                 .region = Given(options.region),
                 .endpoint_url = Given(options.endpoint_url),
                 .profile = {}};
  how.client.target_prefix = kTargetPrefix;
  how.client.content_type = options.content_type;
  how.client.attempt_timeout = options.request_timeout;
  how.client.retry.max_attempts = options.max_attempts;
  how.transport.max_connections = options.max_connections;
  how.transport.connect_timeout = options.connect_timeout;
  how.transport.gives_up = options.gives_up;
  how.transport.proxy = options.proxy;
  how.runtime = options.tls;
  how.log = options.log;
  return ServiceConnection::Open(std::move(how), clock, surroundings);
}

}  // namespace weir::kinesis
