#include "weir/kinesis/connection.h"

#include <fmt/format.h>

#include <utility>

#include "weir/kinesis/wire/cloudwatch_wire.h"
#include "weir/kinesis/wire/wire.h"

namespace weir::kinesis {
namespace {

std::string UrlOf(const std::string& host, std::int64_t port) {
  return host.empty() ? "" : fmt::format("https://{}:{}", host, port);
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
          .endpoint_url = UrlOf(config.endpoint, config.port),
          .content_type = {},
          .connect_timeout = config.connect_timeout,
          .request_timeout = config.request_timeout,
          .max_connections = static_cast<std::size_t>(config.max_connections),
          .tls = {.ca_file = config.ca_file,
                  .ca_folder = config.ca_folder,
                  .verify_certificate = config.verify_certificate},
          .proxy = ProxyOf(config)};
}

ConnectionOptions CloudWatchConnectionFor(const ProducerConfig& config) {
  ConnectionOptions options = ConnectionFor(config);
  options.endpoint_url = UrlOf(config.cloudwatch_endpoint, config.cloudwatch_port);
  options.content_type = kCloudWatchContentType;
  options.max_connections = 1;  // one request is in flight at a time
  options.service = ConnectedService::kCloudWatch;
  return options;
}

Result<std::unique_ptr<ServiceConnection>> Connect(const ConnectionOptions& options,
                                                   const Clock& clock,
                                                   const HostEnvironment& environment) {
  const bool is_kinesis = options.service == ConnectedService::kKinesis;
  ServiceConnectionOptions service_options;
  service_options.service = {.service = is_kinesis ? "kinesis" : "cloudwatch",
                             .region = EmptyToNull(options.region),
                             .endpoint_url = EmptyToNull(options.endpoint_url),
                             .profile = {}};
  service_options.client.target_prefix = is_kinesis ? kTargetPrefix : kCloudWatchTargetPrefix;
  service_options.client.content_type = options.content_type;
  service_options.client.attempt_timeout = options.request_timeout;
  service_options.client.retry.max_attempts = options.max_attempts;
  service_options.transport.max_connections = options.max_connections;
  service_options.transport.connect_timeout = options.connect_timeout;
  service_options.transport.gives_up = options.gives_up;
  service_options.transport.proxy = options.proxy;
  service_options.runtime = options.tls;
  service_options.log = options.log;
  return ServiceConnection::Open(std::move(service_options), clock, environment);
}

}  // namespace weir::kinesis
