// Envoy's rate limit service and Kuadrant's, on a limiter. Semantics: docs/design/service.md.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "weir/grpc/call.h"
#include "weir/grpc/method_table.h"
#include "weir/limiter/limiter.h"
#include "weir/service/access_tokens.h"
#include "weir/service/active_rules.h"
#include "weir/service/check_failure.h"
#include "weir/service/descriptor_plan.h"
#include "weir/service/request_log.h"
#include "weir/service/rule_targets.h"
#include "weir/service/service_counts.h"

namespace weir::service {

struct ServiceOptions {
  /// The time that a store has for a charge without a decision, and for a decision if the
  /// caller sets no deadline or a later one.
  milliseconds store_timeout{5'000};
  /// Requests of one loop that wait for the store; one more fails with kResourceExhausted.
  std::size_t max_in_flight = 10'000;
  /// Requests of one loop whose shadow rules or charges without a decision have not ended, and for
  /// which their response does not wait. At this number, shadow rules of further requests are not
  /// decided, and a response waits for the charges of its request.
  std::size_t max_detached = 10'000;
};

/// The service of one event loop: the service and its calls run on the loop's thread. The limiter,
/// the counts and the log must outlive the service and its calls. The service must outlive its
/// calls.
class RateLimitService {
 public:
  RateLimitService(Limiter& limiter, ServiceCounts& counts, RequestLog& log, ServiceOptions options)
      : limiter_(limiter), counts_(counts), log_(log), options_(options) {}

  /// Requests that begin afterwards use these rules. Until the first call there are no rules,
  /// and requests fail with kUnavailable.
  void SetRules(ActiveRulesPtr rules) {
    targets_ = std::make_unique<RuleTargets>();
    rules_ = std::move(rules);
  }
  /// Requests that begin afterwards need a token with the scope to decide; null: none is needed.
  void SetTokens(AccessTokensPtr tokens) { tokens_ = std::move(tokens); }
  /// Adds the methods of envoy.service.ratelimit.v3.RateLimitService and of
  /// kuadrant.service.ratelimit.v1.RateLimitService. The service must outlive the table.
  void AddTo(grpc::MethodTable& methods);

  /// Carries out one request. `writer` gets the response, at once or later.
  void Check(CheckKind kind, const grpc::CallHead& head, std::string_view message,
             grpc::CallWriter writer);

 private:
  struct Refusal {
    FailureReason reason;
    Error error;
  };
  /// Returns why a call is refused whatever its message is; nothing if it is not refused. Counts
  /// refusals because of the token or of max_in_flight; Refuse counts all refusals.
  std::optional<Refusal> FindRefusal(const grpc::CallHead& head);
  void Refuse(const grpc::CallHead& head, Refusal refusal, const grpc::CallWriter& writer);

  Limiter& limiter_;
  ServiceCounts& counts_;
  RequestLog& log_;
  const ServiceOptions options_;
  std::atomic<std::size_t> in_flight_ = 0;
  std::atomic<std::size_t> detached_ = 0;
  ActiveRulesPtr rules_;
  std::unique_ptr<RuleTargets> targets_;  // of rules_; null only if rules_ is
  AccessTokensPtr tokens_;
};

}  // namespace weir::service
