// The metrics of the calls on an AWS service, for Prometheus. Names and meanings:
// docs/design/metrics.md.
#pragma once

#include <string_view>

#include "weir/aws/json_client.h"
#include "weir/base/result.h"
#include "weir/telemetry/registry.h"

namespace weir {

/// Registers the counters of the client, with the label `service` ("dynamodb"). The client must
/// outlive the registry. Returns kAlreadyExists if the registry already has the counters of this
/// service; some counters may have been added.
[[nodiscard]] Status RegisterMetrics(Registry& registry, const JsonClient& client,
                                     std::string_view service);

}  // namespace weir
