// The metrics of a file's commits, for Prometheus. Names and meanings: docs/design/metrics.md.
#pragma once

#include "weir/base/result.h"
#include "weir/embedded/embedded_backend.h"
#include "weir/telemetry/registry.h"

namespace weir {

/// Registers the metrics of `backend`, which must outlive the registry. Returns kAlreadyExists if
/// the registry already has the metrics of a file; some metrics may have been added then.
[[nodiscard]] Status RegisterFileMetrics(Registry& registry, const EmbeddedBackend& backend);

}  // namespace weir
