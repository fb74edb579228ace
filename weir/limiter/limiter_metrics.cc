#include "weir/limiter/limiter_metrics.h"

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace weir {
namespace {

using ReadNumber = std::uint64_t (*)(const LimiterStats&);

struct CounterRow {
  const char* name;
  const char* help;
  const char* label;  ///< name of the label; null: the metric has none
  const char* value;
  ReadNumber read;
};

constexpr const char kDecisions[] = "weir_limiter_decisions_total";
constexpr const char kDecisionsHelp[] =
    "Results by outcome: admitted (charged), unprotected (admitted by policy, not charged), "
    "refused, "
    "error.";
constexpr const char kRequests[] = "weir_limiter_store_requests_total";
constexpr const char kRequestsHelp[] = "Calls to the store.";
constexpr const char kAdjusts[] = "weir_limiter_unsettled_adjusts_total";
constexpr const char kAdjustsHelp[] =
    "Requests of leases' adjusts whose answer left it open whether they count (in_doubt); adjusts "
    "that were in doubt for ten minutes (given_up).";
constexpr const char kCache[] = "weir_limiter_cache_lookups_total";
constexpr const char kCacheHelp[] = "Lookups of resolved limits.";

constexpr std::array kCounters = {
    CounterRow{kDecisions, kDecisionsHelp, "outcome", "admitted",
               [](const LimiterStats& s) { return s.charged; }},
    CounterRow{kDecisions, kDecisionsHelp, "outcome", "unprotected",
               [](const LimiterStats& s) { return s.unprotected; }},
    CounterRow{kDecisions, kDecisionsHelp, "outcome", "refused",
               [](const LimiterStats& s) { return s.refused; }},
    CounterRow{kDecisions, kDecisionsHelp, "outcome", "error",
               [](const LimiterStats& s) { return s.errors; }},
    CounterRow{kRequests, kRequestsHelp, "kind", "acquire",
               [](const LimiterStats& s) { return s.store_acquires; }},
    CounterRow{kRequests, kRequestsHelp, "kind", "adjust",
               [](const LimiterStats& s) { return s.store_adjusts; }},
    CounterRow{kRequests, kRequestsHelp, "kind", "config_read",
               [](const LimiterStats& s) { return s.store_config_reads; }},
    CounterRow{kCache, kCacheHelp, "result", "hit",
               [](const LimiterStats& s) { return s.resolver.hits; }},
    CounterRow{kCache, kCacheHelp, "result", "miss",
               [](const LimiterStats& s) { return s.resolver.misses; }},
    CounterRow{"weir_limiter_cache_evictions_total", "Resolved pairs that left the full cache.",
               nullptr, nullptr, [](const LimiterStats& s) { return s.resolver.evicted; }},
    CounterRow{"weir_limiter_store_errors_total", "Requests for which the store was unavailable.",
               nullptr, nullptr, [](const LimiterStats& s) { return s.store_errors; }},
    CounterRow{"weir_limiter_outdated_limits_total",
               "Answers of the store that a bucket has other limits, which were then read again.",
               nullptr, nullptr, [](const LimiterStats& s) { return s.outdated; }},
    CounterRow{kAdjusts, kAdjustsHelp, "end", "in_doubt",
               [](const LimiterStats& s) { return s.adjusts_in_doubt; }},
    CounterRow{kAdjusts, kAdjustsHelp, "end", "given_up",
               [](const LimiterStats& s) { return s.adjusts_given_up; }},
    CounterRow{"weir_allowance_decisions_total",
               "Decisions made from an allowance, without a call to the store.", nullptr, nullptr,
               [](const LimiterStats& s) { return s.allowances.decisions; }},
    CounterRow{"weir_allowance_debits_total", "Calls that took tokens ahead.", nullptr, nullptr,
               [](const LimiterStats& s) { return s.allowances.debits; }},
};

constexpr const char kTokens[] = "weir_allowance_tokens_total";
constexpr const char kTokensHelp[] =
    "Tokens taken ahead (debited), and what became of them: spent, returned, forfeited.";

constexpr std::array kTokenCounters = {
    CounterRow{kTokens, kTokensHelp, "fate", "debited",
               [](const LimiterStats& s) { return s.allowances.debited; }},
    CounterRow{kTokens, kTokensHelp, "fate", "spent",
               [](const LimiterStats& s) { return s.allowances.spent; }},
    CounterRow{kTokens, kTokensHelp, "fate", "returned",
               [](const LimiterStats& s) { return s.allowances.returned; }},
    CounterRow{kTokens, kTokensHelp, "fate", "forfeited",
               [](const LimiterStats& s) { return s.allowances.forfeited; }},
};

constexpr std::array kGauges = {
    CounterRow{"weir_limiter_waiting", "Requests that wait for tokens.", nullptr, nullptr,
               [](const LimiterStats& s) { return s.waiting; }},
    CounterRow{"weir_limiter_cached_pairs", "Resolved (entity, resource) pairs in the cache.",
               nullptr, nullptr, [](const LimiterStats& s) { return s.resolver.size; }},
    CounterRow{"weir_allowance_pairs", "Pairs that hold tokens ahead.", nullptr, nullptr,
               [](const LimiterStats& s) { return s.allowances.pairs; }},
};

MetricName NameOf(const CounterRow& row) {
  MetricName name{.name = row.name, .help = row.help};
  if (row.label != nullptr) name.labels = {{row.label, row.value}};
  return name;
}

}  // namespace

Status RegisterMetrics(Registry& registry, const Limiter& limiter) {
  for (const CounterRow& row : kCounters) {
    WEIR_RETURN_IF_ERROR(registry.AddCounter(
        NameOf(row), [&limiter, read = row.read] { return read(limiter.stats()); }));
  }
  for (const CounterRow& row : kTokenCounters) {
    // Millitokens become whole tokens, because a counter of the registry is an integer.
    WEIR_RETURN_IF_ERROR(registry.AddCounter(NameOf(row), [&limiter, read = row.read] {
      return read(limiter.stats()) / static_cast<std::uint64_t>(kMillitokens);
    }));
  }
  for (const CounterRow& row : kGauges) {
    WEIR_RETURN_IF_ERROR(registry.AddGauge(NameOf(row), [&limiter, read = row.read] {
      return static_cast<double>(read(limiter.stats()));
    }));
  }
  return registry.AddHistograms({.name = "weir_limiter_store_seconds",
                                 .help = "Time from a request to the store to its decision.",
                                 .labels = {}},
                                kNanosAsSeconds, [&limiter] {
                                  return std::vector<Labelled<HistogramSnapshot>>{
                                      {.labels = {}, .value = limiter.StoreLatency()}};
                                });
}

}  // namespace weir
