#include "weir/service/service_metrics.h"

namespace weir::service {
namespace {

/// A count of a rule.
using RuleCount = Counter RuleCounts::*;

std::uint64_t Total(const RuleCounts& counts) {
  return counts.hits_within.Value() + counts.hits_over.Value() + counts.hits_shadow_over.Value();
}

template <class Read>
ReadLabelled<std::uint64_t> ReadRules(const RuleCountsByName& rules, Read read) {
  return [&rules, read] {
    std::vector<Labelled<std::uint64_t>> values;
    for (const auto& [name, counts] : rules.ByRule()) {
      values.push_back({{name.first, name.second}, read(*counts)});
    }
    return values;
  };
}

ReadLabelled<std::uint64_t> ReadRule(const RuleCountsByName& rules, RuleCount count) {
  return ReadRules(rules, [count](const RuleCounts& counts) { return (counts.*count).Value(); });
}

Status RegisterRequests(Registry& registry, const ServiceCounts& counts) {
  const auto add = [&](const char* result, const Counter& counter) {
    return registry.Add({.name = "weir_service_requests_total",
                         .help = "Requests of the rate limit services.",
                         .labels = {{"result", result}}},
                        counter);
  };
  WEIR_RETURN_IF_ERROR(add("ok", counts.ok));
  WEIR_RETURN_IF_ERROR(add("over_limit", counts.over_limit));
  WEIR_RETURN_IF_ERROR(add("error", counts.errors));
  WEIR_RETURN_IF_ERROR(registry.Add({.name = "weir_service_denied_total",
                                     .help = "Requests that were refused because of their token."},
                                    counts.denied));
  WEIR_RETURN_IF_ERROR(
      registry.Add({.name = "weir_service_pages_denied_total",
                    .help = "Requests of /metrics that were refused because of their token."},
                   counts.pages_denied));
  WEIR_RETURN_IF_ERROR(
      registry.Add({.name = "weir_service_overloaded_total",
                    .help = "Requests that were refused because too many wait for the store."},
                   counts.overloaded));
  WEIR_RETURN_IF_ERROR(
      registry.Add({.name = "weir_service_undecided_total",
                    .help = "Requests that were refused because a limit could not be decided."},
                   counts.undecided));
  WEIR_RETURN_IF_ERROR(
      registry.Add({.name = "weir_service_lost_charges_total",
                    .help = "Requests whose charge without a decision, or return, failed."},
                   counts.lost_charges));
  WEIR_RETURN_IF_ERROR(
      registry.Add({.name = "weir_service_unprotected_total",
                    .help = "Requests that passed because the store was unavailable."},
                   counts.unprotected));
  return registry.AddGauge(
      {.name = "weir_service_requests_in_flight", .help = "Requests that wait for the store."},
      [&counts] { return static_cast<double>(counts.InFlight()); });
}

Status RegisterCalls(Registry& registry, const grpc::ServerCounts& counts) {
  const auto add = [&](const char* name, const char* help, const char* cause,
                       const Counter& counter) {
    Labels labels;
    if (cause != nullptr) labels.push_back({"cause", cause});
    return registry.Add({.name = name, .help = help, .labels = std::move(labels)}, counter);
  };
  constexpr char kCalls[] = "weir_grpc_calls_total";
  constexpr char kRefused[] = "weir_grpc_refused_total";
  constexpr char kRefusedHelp[] =
      "Requests that reached no method, or that the bounds of a connection ended.";
  const auto& [connections, calls] = counts;
  WEIR_RETURN_IF_ERROR(add(kCalls, "Calls.", nullptr, calls.calls));
  WEIR_RETURN_IF_ERROR(add("weir_grpc_abandoned_total",
                           "Calls whose caller had gone before the response.", nullptr,
                           calls.abandoned));
  WEIR_RETURN_IF_ERROR(add(kRefused, kRefusedHelp, "overload", calls.overloaded));
  WEIR_RETURN_IF_ERROR(add(kRefused, kRefusedHelp, "unknown_method", calls.unknown));
  WEIR_RETURN_IF_ERROR(add(kRefused, kRefusedHelp, "not_grpc", calls.not_grpc));
  WEIR_RETURN_IF_ERROR(add(kRefused, kRefusedHelp, "header_size", connections.refused_headers));
  WEIR_RETURN_IF_ERROR(add(kRefused, kRefusedHelp, "time", connections.request_timeouts));
  WEIR_RETURN_IF_ERROR(add("weir_http2_streams_total", "Streams.", nullptr, connections.streams));
  WEIR_RETURN_IF_ERROR(add("weir_http2_peer_resets_total",
                           "Streams that the peer ended before their response.", nullptr,
                           connections.peer_resets));
  WEIR_RETURN_IF_ERROR(add("weir_http2_response_timeouts_total",
                           "Responses that the peer did not take in time.", nullptr,
                           connections.response_timeouts));
  constexpr char kEnded[] = "weir_http2_connections_ended_total";
  constexpr char kEndedHelp[] = "Connections that the server ended.";
  WEIR_RETURN_IF_ERROR(add(kEnded, kEndedHelp, "protocol", connections.protocol_errors));
  return add(kEnded, kEndedHelp, "time", connections.timeouts);
}

Status RegisterRules(Registry& registry, const RuleCountsByName& rules) {
  const auto add = [&](const char* name, const char* help, RuleCount count) {
    return registry.AddCounters({.name = name, .help = help, .labels = {"domain", "rule"}},
                                ReadRule(rules, count));
  };
  WEIR_RETURN_IF_ERROR(add("weir_service_rule_within_total",
                           "Descriptors that were admitted, or charged without a decision.",
                           &RuleCounts::within));
  WEIR_RETURN_IF_ERROR(
      add("weir_service_rule_over_total", "Descriptors that were refused.", &RuleCounts::over));
  WEIR_RETURN_IF_ERROR(add("weir_service_rule_undecided_total",
                           "Descriptors that could not be decided, and charges without a decision "
                           "that failed.",
                           &RuleCounts::undecided));
  return add("weir_service_rule_shadow_over_total",
             "Descriptors of shadow rules that would have been refused.", &RuleCounts::shadow_over);
}

// Names of envoyproxy/ratelimit (its Prometheus mapper), which counts hits.
Status RegisterHits(Registry& registry, const RuleCountsByName& rules) {
  const auto add = [&](const char* name, ReadLabelled<std::uint64_t> read) {
    return registry.AddCounters(
        {.name = name, .help = "Hits, as in envoyproxy/ratelimit.", .labels = {"domain", "key1"}},
        std::move(read));
  };
  WEIR_RETURN_IF_ERROR(add("ratelimit_service_rate_limit_total_hits", ReadRules(rules, Total)));
  WEIR_RETURN_IF_ERROR(
      add("ratelimit_service_rate_limit_within_limit", ReadRule(rules, &RuleCounts::hits_within)));
  WEIR_RETURN_IF_ERROR(
      add("ratelimit_service_rate_limit_over_limit", ReadRule(rules, &RuleCounts::hits_over)));
  return add("ratelimit_service_rate_limit_shadow_mode",
             ReadRule(rules, &RuleCounts::hits_shadow_over));
}

// Names of limitador, whose namespace is a domain.
Status RegisterDomains(Registry& registry, const RuleCountsByName& rules) {
  const auto add = [&](const char* name, const char* help, Counter DomainCounts::* count) {
    return registry.AddCounters({.name = name, .help = help, .labels = {"limitador_namespace"}},
                                [&rules, count] {
                                  std::vector<Labelled<std::uint64_t>> values;
                                  for (const auto& [domain, counts] : rules.ByDomain()) {
                                    values.push_back({{domain}, (counts.get()->*count).Value()});
                                  }
                                  return values;
                                });
  };
  WEIR_RETURN_IF_ERROR(
      add("authorized_calls", "Requests with a rule that were admitted.", &DomainCounts::admitted));
  return add("limited_calls", "Requests with a rule that were refused.", &DomainCounts::refused);
}

}  // namespace

Status RegisterServiceMetrics(Registry& registry, const CountedService& counted) {
  WEIR_RETURN_IF_ERROR(RegisterRequests(registry, counted.requests));
  WEIR_RETURN_IF_ERROR(RegisterCalls(registry, counted.calls));
  WEIR_RETURN_IF_ERROR(RegisterRules(registry, counted.rules));
  WEIR_RETURN_IF_ERROR(RegisterHits(registry, counted.rules));
  return RegisterDomains(registry, counted.rules);
}

}  // namespace weir::service
