#include "apps/weir/replay/replay.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "apps/weir/replay/replay_recorder.h"
#include "apps/weir/replay/trace_backend.h"
#include "weir/base/rng.h"
#include "weir/bucket/bucket.h"
#include "weir/limiter/limiter.h"

namespace weir::app {
namespace {

/// The time of a pending adjust, and its row.
using DueKey = std::pair<UnixMillis, std::uint64_t>;

struct DueAdjust {
  Lease lease;
  std::size_t tenant = 0;
  std::int64_t tokens = 0;  ///< whole
};

Status CheckLimits(const Target& own, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (std::ranges::find(own.limits, name, &Limit::name) != own.limits.end()) continue;
    if (IsBlocked(own, name)) {
      return Fail(
          Code::kFailedPrecondition,
          fmt::format("limit {} of {} on {} is 0, which blocks: a replay would refuse every "
                      "request",
                      name, own.key.entity, own.key.resource));
    }
    return Fail(Code::kFailedPrecondition,
                fmt::format("{} has no limit {} on {}: a replay needs {} for each tenant, for "
                            "example at the resource",
                            own.key.entity, name, own.key.resource, fmt::join(names, " and ")));
  }
  return {};
}

/// Adds the balance of each limit of the target at `at`. A missing bucket is full.
void AddBalances(const Target& target, const std::optional<BucketRecord>& record, UnixMillis at,
                 std::vector<LimitBalance>& balances) {
  BucketRecord kept = record.value_or(BucketRecord());
  Refill(kept.bucket, at);
  for (const Limit& limit : target.limits) {
    std::int64_t tokens = limit.quota.capacity;
    for (std::size_t i = 0; i < kept.names.size(); ++i) {
      if (kept.names[i] == limit.name) tokens = kept.bucket.meters[i].tokens;
    }
    balances.push_back({target.key, limit.name, tokens});
  }
}

// Replays the requests in order. Between two of them, adjusts that are due are made at their own
// instants.
class Replay {
 public:
  Replay(const ReplayTrace& trace, const ReplayWorld& world)
      : trace_(trace),
        world_(world),
        backend_(world.backend, world.time.clock()),
        limiter_(backend_, world.time, {.log = world.log}),
        recorder_(trace) {}

  Result<ReplayReport> Run() {
    WEIR_RETURN_IF_ERROR(ResolveTenants());
    const std::size_t count = trace_.requests.size();
    for (std::size_t i = 0; i < count; ++i) {
      const ReplayTrace::Request& request = trace_.requests[i];
      const std::uint64_t seq = i + 1;
      WEIR_RETURN_IF_ERROR(AdjustAllBefore({request.at, seq}));
      world_.time.AdvanceTo(request.at);
      WEIR_RETURN_IF_ERROR(AcquireAndSchedule(request, seq));
      if (seq % 1024 == 0) world_.progress(seq, count);
    }
    WEIR_RETURN_IF_ERROR(AdjustAllBefore({UnixMillis{INT64_MAX}, 0}));
    world_.progress(count, count);
    return std::move(recorder_).Close(latency_.Snapshot());
  }

  // Resolves all tenants and checks that their limits fit the trace and their buckets are new.
  Status ResolveTenants() {
    for (std::size_t i = 0; i < trace_.tenants.size(); ++i) {
      const ReplayTrace::Tenant& tenant = trace_.tenants[i];
      WEIR_ASSIGN_OR_RETURN(const ResolvedPtr resolved,
                            limiter_.Resolve(tenant.entity, tenant.resource, Deadline::Never()));
      WEIR_RETURN_IF_ERROR(CheckLimits(*resolved->targets.front(), trace_.limits));
      recorder_.AddTenant(tenant, {resolved->targets.begin(), resolved->targets.end()});
      WEIR_RETURN_IF_ERROR(CheckFresh(i));
    }
    return {};
  }

 private:
  Status CheckFresh(std::size_t tenant) {
    WEIR_ASSIGN_OR_RETURN(const auto records, ReadBuckets(tenant));
    for (const std::optional<BucketRecord>& record : records) {
      if (!record) continue;
      return Fail(Code::kFailedPrecondition,
                  fmt::format("{} has a bucket on {} in {}: a replay begins with full limits; "
                              "give it --store memory: or a new file",
                              record->key.entity, record->key.resource, world_.backend.Describe()));
    }
    return {};
  }

  using Records = std::vector<std::optional<BucketRecord>>;

  Result<Records> ReadBuckets(std::size_t tenant) {
    std::vector<BucketKey> keys;
    for (const TargetPtr& target : recorder_.targets(tenant)) keys.push_back(target->key);
    return world_.time.Await<Records>([&](Done<Records> done) {
      world_.backend.buckets().Read(keys, Deadline::Never(), std::move(done));
    });
  }

  Result<std::vector<LimitBalance>> BalancesAt(std::size_t tenant, UnixMillis at) {
    WEIR_ASSIGN_OR_RETURN(const Records records, ReadBuckets(tenant));
    std::vector<LimitBalance> balances;
    const std::vector<TargetPtr>& targets = recorder_.targets(tenant);
    for (std::size_t i = 0; i < targets.size(); ++i) {
      AddBalances(*targets[i], records[i], at, balances);
    }
    return balances;
  }

  // Makes the decision of a request and schedules its adjust.
  Status AcquireAndSchedule(const ReplayTrace::Request& traced, std::uint64_t seq) {
    const ReplayTrace::Tenant& tenant = trace_.tenants[traced.tenant];
    const AcquireRequest request{
        .entity = tenant.entity, .resource = tenant.resource, .amounts = traced.amounts};
    const Moment moment{traced.at, seq};
    Result<Outcome> outcome = Acquire(request);
    if (!outcome) return RecordImpossible(traced.tenant, moment, request.amounts, outcome.error());
    recorder_.RecordDecision(traced.tenant, moment, outcome->decision());
    if (!outcome->admitted()) return {};
    Lease lease = std::move(*outcome).lease();
    if (traced.correction == 0) return lease.Commit();
    due_.emplace(DueKey(traced.corrected_at, seq),
                 DueAdjust{std::move(lease), traced.tenant, traced.correction});
    return {};
  }

  Result<Outcome> Acquire(const AcquireRequest& request) {
    const Instant before = world_.stopwatch.Now();
    Result<Outcome> outcome = world_.time.Await<Outcome>(
        [&](Done<Outcome> done) { limiter_.Acquire(request, Deadline::Never(), std::move(done)); });
    latency_.Record((world_.stopwatch.Now() - before).count());
    return outcome;
  }

  // Records a request over a capacity. Any other error ends the replay.
  Status RecordImpossible(std::size_t tenant, Moment moment, const Amounts& amounts,
                          const Error& error) {
    const bool never =
        error.code == Code::kInvalidArgument && recorder_.IsImpossible(tenant, amounts);
    if (!never) return Fail(error);
    WEIR_ASSIGN_OR_RETURN(const auto balances, BalancesAt(tenant, moment.at));
    recorder_.RecordImpossible(tenant, moment, amounts, balances);
    return {};
  }

  // Makes the adjusts before `end` in the order of their instants.
  Status AdjustAllBefore(const DueKey& end) {
    while (!due_.empty() && due_.begin()->first < end) {
      auto node = due_.extract(due_.begin());
      const Moment moment{node.key().first, node.key().second};
      world_.time.AdvanceTo(moment.at);
      WEIR_RETURN_IF_ERROR(Adjust(moment, std::move(node.mapped())));
    }
    return {};
  }

  Status Adjust(Moment moment, DueAdjust due) {
    const Amounts amounts{{trace_.measured, due.tokens}};
    WEIR_RETURN_IF_ERROR(world_.time.Await<void>(
        [&](Done<void> done) { due.lease.Adjust(amounts, std::move(done)); }));
    WEIR_ASSIGN_OR_RETURN(const auto balances, BalancesAt(due.tenant, moment.at));
    recorder_.RecordAdjust(due.tenant, moment, due.tokens * kMillitokens, balances);
    return due.lease.Commit();
  }

  const ReplayTrace& trace_;
  const ReplayWorld& world_;
  TraceBackend backend_;
  Limiter limiter_;
  ReplayRecorder recorder_;
  Histogram latency_;
  std::map<DueKey, DueAdjust> due_;
};

}  // namespace

ReplayTrace TraceFromTokenRows(std::span<const TraceRow> rows, const ReplayOptions& options) {
  ReplayTrace trace{.limits = {kRequestLimit, kTokenLimit}, .measured = kTokenLimit};
  for (std::uint64_t i = 0; i < options.tenants; ++i) {
    trace.tenants.push_back({fmt::format("tenant-{}", i + 1), kReplayResource});
  }
  Rng rng(options.seed);
  const Zipf zipf(options.tenants, 1.0);
  for (const TraceRow& row : rows) {
    const bool actual = options.strategy == Strategy::kActual;
    const std::int64_t expected = actual ? row.generated_tokens : options.estimate;
    trace.requests.push_back(
        {.at = row.at,
         .tenant = zipf.Draw(rng),
         .amounts = {{kRequestLimit, 1}, {kTokenLimit, row.context_tokens + expected}},
         .correction = row.generated_tokens - expected,
         .corrected_at = row.at + kGenerationTime * row.generated_tokens});
  }
  return trace;
}

ReplayTrace TraceFromRequests(std::span<const TracedRequest> requests) {
  ReplayTrace trace;
  for (const Amount& amount : requests.front().amounts) trace.limits.push_back(amount.limit);
  trace.measured = trace.limits.back();
  std::map<ReplayTrace::Tenant, std::size_t> indexes;
  for (const TracedRequest& request : requests) {
    ReplayTrace::Tenant tenant{request.entity, request.resource};
    const auto [at, is_new] = indexes.emplace(tenant, trace.tenants.size());
    if (is_new) trace.tenants.push_back(std::move(tenant));
    trace.requests.push_back(
        {.at = request.at, .tenant = at->second, .amounts = request.amounts, .corrected_at = {}});
  }
  return trace;
}

Status CheckReplay(const ReplayTrace& trace, const ReplayWorld& world) {
  return Replay(trace, world).ResolveTenants();
}

Result<ReplayReport> RunReplay(const ReplayTrace& trace, const ReplayWorld& world) {
  return Replay(trace, world).Run();
}

}  // namespace weir::app
