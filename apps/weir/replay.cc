#include "apps/weir/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "apps/weir/replay_book.h"
#include "apps/weir/trace_backend.h"
#include "weir/base/rng.h"
#include "weir/bucket/bucket.h"
#include "weir/limiter/limiter.h"

namespace weir::app {
namespace {

/// When an adjust is due, and of which row.
using DueKey = std::pair<UnixMillis, std::uint64_t>;

struct DueAdjust {
  Lease lease;
  std::size_t tenant = 0;
  std::int64_t tokens = 0;  ///< whole
};

Status CheckLimits(const Target& own) {
  for (const std::string_view name : {kRequestLimit, kTokenLimit}) {
    const auto same = [&](const Limit& limit) { return limit.name == name; };
    if (std::any_of(own.limits.begin(), own.limits.end(), same)) continue;
    return Fail(Code::kFailedPrecondition,
                fmt::format("{} has no limit {} on {}: a replay needs {} and {} for each tenant, "
                            "for example at the resource",
                            own.key.entity, name, kReplayResource, kRequestLimit, kTokenLimit));
  }
  return {};
}

/// The balance of each limit of the target at `at`; a bucket that does not exist is full.
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

class Replay {
 public:
  Replay(const ReplayWorld& world, const ReplayOptions& options)
      : world_(world),
        options_(options),
        backend_(world.backend, world.time.clock()),
        limiter_(backend_, world.time),
        rng_(options.seed),
        zipf_(options.tenants, 1.0) {}

  Result<ReplayReport> Run(std::span<const TraceRow> rows) {
    WEIR_RETURN_IF_ERROR(AddTenants());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::uint64_t seq = i + 1;
      WEIR_RETURN_IF_ERROR(AdjustAllBefore({rows[i].at, seq}));
      world_.time.AdvanceTo(rows[i].at);
      WEIR_RETURN_IF_ERROR(Ask(rows[i], seq));
      if (seq % 1024 == 0) world_.progress(seq, rows.size());
    }
    WEIR_RETURN_IF_ERROR(AdjustAllBefore({UnixMillis{INT64_MAX}, 0}));
    world_.progress(rows.size(), rows.size());
    return std::move(book_).Close(latency_.Snapshot());
  }

 private:
  Status AddTenants() {
    for (std::uint64_t i = 0; i < options_.tenants; ++i) {
      const std::string entity = fmt::format("tenant-{}", i + 1);
      WEIR_ASSIGN_OR_RETURN(const ResolvedPtr resolved,
                            limiter_.Resolve(entity, kReplayResource, Deadline::Never()));
      WEIR_RETURN_IF_ERROR(CheckLimits(*resolved->targets.front()));
      book_.AddTenant(entity, {resolved->targets.begin(), resolved->targets.end()});
      WEIR_RETURN_IF_ERROR(CheckFresh(i));
    }
    return {};
  }

  Status CheckFresh(std::size_t tenant) {
    WEIR_ASSIGN_OR_RETURN(const auto records, Read(tenant));
    for (const std::optional<BucketRecord>& record : records) {
      if (!record) continue;
      return Fail(Code::kFailedPrecondition,
                  fmt::format("{} has a bucket on {} in {}: a replay begins with full limits; give "
                              "it --store memory: or a new file",
                              record->key.entity, record->key.resource, world_.backend.Describe()));
    }
    return {};
  }

  using Records = std::vector<std::optional<BucketRecord>>;

  Result<Records> Read(std::size_t tenant) {
    std::vector<BucketKey> keys;
    for (const TargetPtr& target : book_.targets(tenant)) keys.push_back(target->key);
    return world_.time.Await<Records>([&](Done<Records> done) {
      world_.backend.buckets().Read(keys, Deadline::Never(), std::move(done));
    });
  }

  Result<std::vector<LimitBalance>> Balances(std::size_t tenant, UnixMillis at) {
    WEIR_ASSIGN_OR_RETURN(const Records records, Read(tenant));
    std::vector<LimitBalance> balances;
    const std::vector<TargetPtr>& targets = book_.targets(tenant);
    for (std::size_t i = 0; i < targets.size(); ++i) {
      AddBalances(*targets[i], records[i], at, balances);
    }
    return balances;
  }

  Status Ask(const TraceRow& row, std::uint64_t seq) {
    const std::size_t tenant = zipf_.Draw(rng_);
    const bool actual = options_.strategy == Strategy::kActual;
    const std::int64_t expected = actual ? row.generated_tokens : options_.estimate;
    const AcquireRequest request{
        .entity = book_.entity(tenant),
        .resource = kReplayResource,
        .amounts = {{kRequestLimit, 1}, {kTokenLimit, row.context_tokens + expected}}};
    const Moment moment{row.at, seq};
    Result<Outcome> outcome = Acquire(request);
    if (!outcome) return Impossible(tenant, moment, request.amounts, outcome.error());
    book_.Decided(tenant, moment, outcome->decision());
    if (!outcome->admitted()) return {};
    Lease lease = std::move(*outcome).lease();
    const std::int64_t correction = row.generated_tokens - expected;
    if (correction == 0) return lease.Commit();
    const UnixMillis due = row.at + kGenerationTime * row.generated_tokens;
    due_.emplace(DueKey(due, seq), DueAdjust{std::move(lease), tenant, correction});
    return {};
  }

  Result<Outcome> Acquire(const AcquireRequest& request) {
    const Instant before = world_.stopwatch.Now();
    Result<Outcome> outcome = world_.time.Await<Outcome>(
        [&](Done<Outcome> done) { limiter_.Acquire(request, Deadline::Never(), std::move(done)); });
    latency_.Record((world_.stopwatch.Now() - before).count());
    return outcome;
  }

  Status Impossible(std::size_t tenant, Moment moment, const Amounts& amounts, const Error& error) {
    const bool never = error.code == Code::kInvalidArgument && book_.IsImpossible(tenant, amounts);
    if (!never) return Fail(error);
    WEIR_ASSIGN_OR_RETURN(const auto balances, Balances(tenant, moment.at));
    book_.Impossible(tenant, moment, amounts, balances);
    return {};
  }

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
    const Amounts amounts{{kTokenLimit, due.tokens}};
    WEIR_RETURN_IF_ERROR(world_.time.Await<void>(
        [&](Done<void> done) { due.lease.Adjust(amounts, std::move(done)); }));
    WEIR_ASSIGN_OR_RETURN(const auto balances, Balances(due.tenant, moment.at));
    book_.Adjusted(due.tenant, moment, due.tokens * kMillitokens, balances);
    return due.lease.Commit();
  }

  const ReplayWorld& world_;
  const ReplayOptions& options_;
  TraceBackend backend_;
  Limiter limiter_;
  Rng rng_;
  const Zipf zipf_;
  ReplayBook book_;
  Histogram latency_;
  std::map<DueKey, DueAdjust> due_;
};

}  // namespace

Result<ReplayReport> RunReplay(std::span<const TraceRow> rows, const ReplayWorld& world,
                               const ReplayOptions& options) {
  return Replay(world, options).Run(rows);
}

}  // namespace weir::app
