// A JSON service of AWS, ready to be called: everything between its name and the network.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "weir/aws/http/crt_runtime.h"
#include "weir/aws/http/crt_transport.h"
#include "weir/aws/json_client.h"
#include "weir/aws/retrying_client.h"
#include "weir/aws/service_location.h"
#include "weir/base/api.h"
#include "weir/base/result.h"
#include "weir/runtime/scheduler.h"
#include "weir/telemetry/log.h"

namespace weir {

/// Open sets host, port, scheme and path, and the client's seed and log; their values here are
/// ignored.
struct ServiceConnectionOptions {
  ServiceOptions service;
  JsonClientOptions client;
  TransportOptions transport;
  CrtOptions runtime;
  /// Gets the events of the client and of MakeCachedCredentials. Must outlive the connection.
  Log* log = nullptr;
};

/// Owns the network, the credentials and a thread for timers. Thread-safe. To be destroyed when no
/// call is pending, and not on one of its threads. The destructor waits for a fetch of credentials
/// in flight (crt_credentials.h): for up to a minute and then, without a limit of time, until the
/// endpoint of the credentials has responded or disconnected.
class WEIR_API ServiceConnection {
 public:
  /// Reads files and environment (LocateService; AWS_CA_BUNDLE if options.runtime names no
  /// authorities), but sends no request. Returns the errors of LocateService, CrtRuntime::Start and
  /// MakeTransport. `clock` must be a real one and outlive the connection.
  [[nodiscard]] static Result<std::unique_ptr<ServiceConnection>> Open(
      ServiceConnectionOptions options, const Clock& clock, const HostEnvironment& environment);
  ~ServiceConnection();
  ServiceConnection(const ServiceConnection&) = delete;
  ServiceConnection& operator=(const ServiceConnection&) = delete;

  JsonClient& client();
  Scheduler& scheduler();

 private:
  struct WEIR_INTERNAL Parts;
  explicit ServiceConnection(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

/// Converts a text to an optional, as in ServiceOptions: an empty text becomes nothing.
WEIR_API std::optional<std::string> EmptyToNull(const std::string& text);

}  // namespace weir
