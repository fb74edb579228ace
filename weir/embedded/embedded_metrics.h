// The metrics of a file's commits, for Prometheus. Names and meanings: docs/design/metrics.md.
#pragma once

#include "weir/base/result.h"
#include "weir/embedded/embedded_backend.h"
#include "weir/telemetry/registry.h"

namespace weir {

/// Adds what `backend` counts. It must outlive the registry. kAlreadyExists: the registry has those
/// of a file already; some may have been added.
[[nodiscard]] Status RegisterFileMetrics(Registry& registry, const EmbeddedBackend& backend);

}  // namespace weir
