// Generates load on a limiter from many threads and reports the results.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/weir/command.h"
#include "apps/weir/load/entity_names.h"
#include "weir/embedded/embedded_backend.h"
#include "weir/limiter/limiter.h"
#include "weir/telemetry/histogram.h"

namespace weir::app {

struct LoadOptions {
  EntityNames entities;
  std::string resource;
  Amounts amounts;
  Amounts adjust;  ///< after each admitted request; may be empty
  std::optional<std::vector<Limit>> limits;
  std::uint64_t workers = 1;
  nanoseconds duration = std::chrono::seconds(10);
  std::optional<std::int64_t> rate;  ///< millidecisions/s of all workers; nothing: unlimited
  std::optional<double> zipf;        ///< exponent; nothing: uniform
  std::uint64_t seed = 1;
  std::string acknowledged;  ///< the path of an AckLog; empty: none
  bool metrics = false;      ///< print the metrics of the limiter and the store too
};

struct LoadReport {
  std::uint64_t admitted = 0;
  std::uint64_t unprotected = 0;  ///< how many of `admitted` were without a charge, by the policy
  std::uint64_t refused = 0;
  std::uint64_t errors = 0;
  std::optional<Error> first_error;
  bool interrupted = false;  ///< by a signal, before the end of the duration
  nanoseconds elapsed{0};
  HistogramSnapshot latency;  ///< the latency of each decision, in ns
  LimiterStats limiter;
  std::optional<EmbeddedStats> file;  ///< the statistics of a backend on a file
};

/// Runs until the duration has passed, the process is interrupted, or an error shows that no
/// request can succeed. Blocks. Returns an error if the file of acknowledgements cannot be opened.
[[nodiscard]] Result<LoadReport> RunLoad(Limiter& limiter, const LoadOptions& options,
                                         const ProcessContext& process);

nlohmann::ordered_json ToJson(const LoadReport& report);
std::string TextOf(const LoadReport& report);

}  // namespace weir::app
