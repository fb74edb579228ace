#include "weir/rate_limiter_py/tables_backend.h"

#include <fmt/format.h>

#include <utility>

namespace weir::rate_limiter_py {
namespace {

SlotStoreOptions WithSeed(SlotStoreOptions options, std::uint64_t seed) {
  options.seed = seed;
  return options;
}

}  // namespace

TablesBackend::TablesBackend(JsonClient& client, Scheduler& scheduler, TableNames names,
                             const TablesBackendOptions& options)
    : tables_(client, scheduler, std::move(names), options.seed),
      tokens_(tables_.tokens, {.seed = ~options.seed}),
      limits_(tables_.limits, tables_.names.service_index),
      slots_(tables_.slots, scheduler.clock(), tables_.names.resource_index,
             WithSeed(options.slots, options.seed)) {}

std::string TablesBackend::Describe() const {
  return fmt::format("rate-limiter-py's tables {}, {}, {}", tables_.names.tokens,
                     tables_.names.limits, tables_.names.slots);
}

}  // namespace weir::rate_limiter_py
