#include "weir/kinesis/connection.h"

#include <utility>

#include "weir/kinesis/wire.h"

namespace weir::kinesis {

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
  how.runtime.verify_certificate = options.verify_certificate;
  how.log = options.log;
  return ServiceConnection::Open(std::move(how), clock, surroundings);
}

}  // namespace weir::kinesis
