// The metrics of the calls on an AWS service, for Prometheus. Names and meanings:
// docs/design/metrics.md.
#pragma once

#include <string_view>

#include "weir/aws/json_client.h"
#include "weir/base/result.h"
#include "weir/telemetry/registry.h"

namespace weir {

/// Adds what the client counts, with `service` ("dynamodb") as a label. The client must outlive the
/// registry. kAlreadyExists: the registry has those of this service already; some may have been
/// added.
[[nodiscard]] Status RegisterMetrics(Registry& registry, const JsonClient& client,
                                     std::string_view service);

}  // namespace weir
