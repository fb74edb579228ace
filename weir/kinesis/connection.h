// Kinesis, and CloudWatch for its metrics, ready to be called.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "weir/aws/service_connection.h"
#include "weir/base/result.h"
#include "weir/kinesis/producer_config.h"
#include "weir/telemetry/log.h"

namespace weir::kinesis {

enum class ConnectedService { kKinesis, kCloudWatch };

struct ConnectionOptions {
  std::string region;        ///< empty: as AWS's SDKs find it
  std::string endpoint_url;  ///< empty: the region's, or as AWS's SDKs find it
  std::string content_type;  ///< of the bodies: wire.h, cloudwatch_wire.h
  milliseconds connect_timeout{6'000};
  milliseconds request_timeout{6'000};  ///< of one request, from when it has a connection
  std::size_t max_connections = 24;
  CrtOptions tls;                    ///< whose certificates are trusted
  std::optional<HttpProxy> proxy{};  ///< nothing: as TransportOptions says
  /// 1: what failed is told at once, except that rejected credentials and a wrong clock are mended
  /// first. A producer wants that; who reads wants more.
  int max_attempts = 1;
  /// As TransportOptions has it.
  std::function<bool()> gives_up{};
  ConnectedService service = ConnectedService::kKinesis;
  Log* log = nullptr;  ///< gets the events of ServiceConnection; must outlive it
};

/// Where and how a producer of this configuration connects. content_type and log are left to the
/// caller.
ConnectionOptions ConnectionFor(const ProducerConfig& config);
/// The same for the upload of its metrics (metrics_uploader.h); the log is left to the caller.
ConnectionOptions CloudWatchConnectionFor(const ProducerConfig& config);

/// Reads files and environment; asks nobody yet. Errors of ServiceConnection::Open. `clock` must be
/// a real one and outlive it.
[[nodiscard]] Result<std::unique_ptr<ServiceConnection>> Connect(
    const ConnectionOptions& options, const Clock& clock, const HostEnvironment& surroundings);

}  // namespace weir::kinesis
