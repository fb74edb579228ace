// A backend by its URL.
#pragma once

#include <memory>
#include <string_view>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/embedded/embedded_backend.h"
#include "weir/store/backend.h"

namespace weir {

struct BackendOptions {
  EmbeddedOptions embedded;
};

/// `memory:`, or `sqlite:PATH` (also `sqlite:///ABSOLUTE/PATH`), which is an EmbeddedBackend. The
/// backend owns the thread it needs: destroy it neither from that thread nor from an answer.
/// `clock` must outlive it, and for a file must be a real one.
///
/// kInvalidArgument for what is no such URL, naming what there is; else as OpenEmbedded.
[[nodiscard]] Result<std::unique_ptr<Backend>> OpenBackend(std::string_view url, const Clock& clock,
                                                           const BackendOptions& options = {});

}  // namespace weir
