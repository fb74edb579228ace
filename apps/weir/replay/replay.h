// Runs a trace through a limiter in the trace's own time. Order of events: docs/design/replay.md.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "apps/weir/replay/admission_check.h"
#include "apps/weir/replay/plot.h"
#include "apps/weir/replay/replay_log.h"
#include "apps/weir/replay/request_trace.h"
#include "apps/weir/replay/trace.h"
#include "apps/weir/replay/trace_scheduler.h"
#include "weir/store/backend.h"
#include "weir/telemetry/histogram.h"
#include "weir/telemetry/log.h"

namespace weir::app {

inline constexpr char kReplayResource[] = "llm";
inline constexpr char kRequestLimit[] = "rpm";
inline constexpr char kTokenLimit[] = "tpm";
/// The simulated time per generated token: a request is corrected this long after its arrival for
/// each token that it generated.
inline constexpr milliseconds kGenerationTime{20};

enum class Strategy {
  kEstimate,  ///< take an estimate of the generated tokens, and adjust when their number is known
  kActual,    ///< take the generated tokens at once
};

struct ReplayOptions {
  std::uint64_t tenants = 20;
  std::uint64_t seed = 1;
  Strategy strategy = Strategy::kEstimate;
  std::int64_t estimate = 256;  ///< whole tokens
};

/// The requests of a trace: their tenants, amounts and times.
struct ReplayTrace {
  struct Tenant {
    std::string entity;
    std::string resource;
    friend auto operator<=>(const Tenant&, const Tenant&) = default;
  };
  struct Request {
    UnixMillis at;
    std::size_t tenant = 0;  ///< the index in `tenants`
    Amounts amounts;
    /// Whole tokens of the limit ReplayTrace::measured, added at `corrected_at`.
    std::int64_t correction = 0;
    UnixMillis corrected_at;
  };
  std::vector<Tenant> tenants;
  std::vector<std::string> limits;  ///< the taken limits; each tenant has all of them
  std::string measured;             ///< the limit whose tokens are summed
  std::vector<Request> requests;    ///< in order of time
};

/// Converts rows with numbers of tokens: each becomes a request of one of tenant-1 to tenant-N,
/// drawn by a Zipf distribution.
ReplayTrace TraceFromTokenRows(std::span<const TraceRow> rows, const ReplayOptions& options);
/// Converts requests, without a change of their order, amounts or times. REQUIRES: there are
/// requests, and all take from the same limits in the same order.
ReplayTrace TraceFromRequests(std::span<const TracedRequest> requests);

/// Refusals by the names of the limits that had too few tokens. One refusal may count for several
/// limits.
struct RefusedBy {
  std::map<std::string, std::uint64_t> own;
  std::map<std::string, std::uint64_t> above;  ///< limits of parents
};

struct TenantTally {
  std::string entity;
  std::string resource;
  std::uint64_t asked = 0;
  std::uint64_t admitted = 0;
  std::uint64_t refused = 0;
  std::uint64_t impossible = 0;
  RefusedBy refused_by{};
  std::int64_t tokens = 0;        ///< net, in millitokens
  std::int64_t deepest_debt = 0;  ///< the deepest debt of the tenant's own bucket, in millitokens
};

/// The charges of a parent by the requests of its tenants.
struct AboveTally {
  std::int64_t tokens = 0;        ///< net, in millitokens
  std::int64_t deepest_debt = 0;  ///< in millitokens
};

struct ReplayReport {
  std::vector<std::string> limit_names;  ///< as in ReplayTrace::limits
  std::vector<TenantTally> tenants;
  std::map<std::string, AboveTally> above;
  std::vector<LogLine> log;
  std::vector<PlotPoint> charged;  ///< tokens of the tenants' own buckets
  CheckedLimits limits;
  /// Millitokens of ReplayTrace::measured, summed over the buckets that have no parent.
  std::int64_t root_refill_per_minute = 0;
  HistogramSnapshot latency;  ///< the latency of each decision, in ns of real time
};

/// Called at intervals and at the end with the number of finished rows and of all rows.
using ReplayProgress = std::function<void(std::size_t done, std::size_t of)>;

/// The backend, time and clocks of a replay. All members must outlive the replay.
struct ReplayWorld {
  Backend& backend;
  TraceScheduler& time;    ///< starts at the first row
  const Clock& stopwatch;  ///< measures decisions
  ReplayProgress progress;
  Log* log = &NoLog();  ///< for the limiter
};

/// Returns kFailedPrecondition if a tenant has buckets already, lacks a limit of the trace, or is
/// blocked by a limit of 0. Blocks. REQUIRES: the trace has requests.
[[nodiscard]] Status CheckReplay(const ReplayTrace& trace, const ReplayWorld& world);
/// Makes the checks of CheckReplay, and runs the trace against the limits of the backend.
[[nodiscard]] Result<ReplayReport> RunReplay(const ReplayTrace& trace, const ReplayWorld& world);

}  // namespace weir::app
