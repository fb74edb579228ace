// A trace run through a limiter, with the trace's own time. What happens when:
// docs/design/replay.md.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "apps/weir/admission_check.h"
#include "apps/weir/plot.h"
#include "apps/weir/replay_log.h"
#include "apps/weir/request_trace.h"
#include "apps/weir/trace.h"
#include "apps/weir/trace_scheduler.h"
#include "weir/store/backend.h"
#include "weir/telemetry/histogram.h"
#include "weir/telemetry/log.h"

namespace weir::app {

inline constexpr char kReplayResource[] = "llm";
inline constexpr char kRequestLimit[] = "rpm";
inline constexpr char kTokenLimit[] = "tpm";
/// From a request to the adjust of what it generated, for each generated token.
inline constexpr milliseconds kGenerationTime{20};

enum class Strategy {
  kEstimate,  ///< take an estimate of what will be generated, adjust when it is
              ///< known
  kActual,    ///< take what was generated at once
};

struct ReplayOptions {
  std::uint64_t tenants = 20;
  std::uint64_t seed = 1;
  Strategy strategy = Strategy::kEstimate;
  std::int64_t estimate = 256;  ///< whole tokens
};

/// Who asks for what, and when.
struct ReplayTrace {
  struct Tenant {
    std::string entity;
    std::string resource;
    friend auto operator<=>(const Tenant&, const Tenant&) = default;
  };
  struct Request {
    UnixMillis at;
    std::size_t tenant = 0;  ///< its place in `tenants`
    Amounts amounts;
    std::int64_t correction = 0;  ///< whole tokens of `measured`, added at `corrected`
    UnixMillis corrected;
  };
  std::vector<Tenant> tenants;
  std::vector<std::string> limits;  ///< what the requests take; each tenant has them all
  std::string measured;             ///< the limit whose tokens are added up
  std::vector<Request> requests;    ///< in order of time
};

/// The rows as requests of tenant-1 to tenant-N, drawn by Zipf's law.
ReplayTrace TraceOfTokens(std::span<const TraceRow> rows, const ReplayOptions& options);
/// The requests as they are. REQUIRES: requests, which take the same limits in
/// the same order.
ReplayTrace TraceOfRequests(std::span<const TracedRequest> requests);

/// Refusals by the names of the limits that were short; one refusal may count
/// at several.
struct RefusedBy {
  std::map<std::string, std::uint64_t> own;
  std::map<std::string, std::uint64_t> above;  ///< of entities above
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
  std::int64_t deepest_debt = 0;  ///< of its own bucket, in millitokens
};

/// An entity above tenants, which their requests charge too.
struct AboveTally {
  std::int64_t tokens = 0;        ///< net, in millitokens
  std::int64_t deepest_debt = 0;  ///< in millitokens
};

struct ReplayReport {
  std::vector<std::string> limit_names;  ///< as ReplayTrace::limits
  std::vector<TenantTally> tenants;
  std::map<std::string, AboveTally> above;
  std::vector<LogLine> log;
  std::vector<PlotPoint> charged;  ///< tokens of the tenants' own buckets
  BoundLimits limits;
  std::int64_t outermost_per_minute = 0;  ///< refill of the tokens of all outermost buckets
  HistogramSnapshot latency;              ///< of each decision, in ns of real time
};

/// Told now and then, and at the end: rows done, of so many.
using ReplayProgress = std::function<void(std::size_t done, std::size_t of)>;

struct ReplayWorld {
  Backend& backend;
  TraceScheduler& time;    ///< begins at the first row
  const Clock& stopwatch;  ///< measures decisions
  ReplayProgress progress;
  Log* log = &NoLog();  ///< of the limiter
};

/// Runs the trace against the limits that are set. kFailedPrecondition: buckets
/// of the tenants exist already, or a tenant has not all limits of the trace.
/// Blocks. REQUIRES: requests.
/// The same without the run: what keeps it from beginning.
[[nodiscard]] Status CheckReplay(const ReplayTrace& trace, const ReplayWorld& process);
[[nodiscard]] Result<ReplayReport> RunReplay(const ReplayTrace& trace, const ReplayWorld& process);

}  // namespace weir::app
