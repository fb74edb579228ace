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

/// `memory:` or `sqlite:PATH` (also `sqlite:///ABSOLUTE/PATH`). The backend owns the thread it needs.
/// `clock` must outlive it. kInvalidArgument for another scheme, naming those there are; else as
/// OpenEmbedded.
[[nodiscard]] Result<std::unique_ptr<Backend>> OpenBackend(std::string_view url, const Clock& clock,
                                                           const BackendOptions& options = {});

}  // namespace weir
