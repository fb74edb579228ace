// Connections to Kinesis, and to CloudWatch for the metrics of producers.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "weir/aws/service_connection.h"
#include "weir/base/api.h"
#include "weir/base/result.h"
#include "weir/kinesis/producer_config.h"
#include "weir/telemetry/log.h"

namespace weir::kinesis {

enum class ConnectedService { kKinesis, kCloudWatch };

struct ConnectionOptions {
  std::string region;        ///< empty: found as AWS's SDKs do
  std::string endpoint_url;  ///< empty: the region's, or found as AWS's SDKs do
  std::string content_type;  ///< of the request bodies: see wire.h and cloudwatch_wire.h
  milliseconds connect_timeout{6'000};
  /// The timeout of one request, from when it has a connection.
  milliseconds request_timeout{6'000};
  std::size_t max_connections = 24;
  CrtOptions tls;                    ///< the trusted certificates
  std::optional<HttpProxy> proxy{};  ///< nothing: as TransportOptions says
  /// The maximum number of attempts of a call. 1: a failure is returned at once, except that
  /// rejected credentials are replaced and a wrong clock is corrected first. A producer uses 1;
  /// readers use more.
  int max_attempts = 1;
  /// See TransportOptions::gives_up.
  std::function<bool()> gives_up{};
  ConnectedService service = ConnectedService::kKinesis;
  Log* log = nullptr;  ///< gets the events of ServiceConnection; must outlive the connection
};

/// Returns the options for a producer of this configuration. The caller sets content_type and log.
WEIR_API ConnectionOptions ConnectionFor(const ProducerConfig& config);
/// Returns the options for the upload of the metrics of such a producer (metrics_uploader.h). The
/// caller sets log.
WEIR_API ConnectionOptions CloudWatchConnectionFor(const ProducerConfig& config);

/// Opens a connection. Reads files and environment, and sends no request yet. Returns the errors of
/// ServiceConnection::Open. `clock` must be a real clock and outlive the connection.
[[nodiscard]] WEIR_API Result<std::unique_ptr<ServiceConnection>> Connect(
    const ConnectionOptions& options, const Clock& clock, const HostEnvironment& environment);

}  // namespace weir::kinesis
