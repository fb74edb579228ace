// The log events of single requests.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/grpc/request_ids.h"
#include "weir/service/check_failure.h"
#include "weir/telemetry/log.h"
#include "weir/telemetry/repeated_event.h"

namespace weir::service {

/// Each event is written at most once in 10 s (service.request_failed: once for each reason), with
/// the number of events that were `suppressed`. It has the fields `request_id` and `trace_id` if
/// the request has them. Any thread.
class RequestLog {
 public:
  /// `log` must outlive it.
  explicit RequestLog(Log& log) : log_(log) {}

  /// "service.undecided" (warning: rule, message): a descriptor cannot be decided. `rule` is empty
  /// if it is not known; the event then has no such field.
  void Undecided(const grpc::RequestIds& ids, std::string_view rule, std::string_view message,
                 Instant now);
  /// "service.shadow_undecided" (warning: rule, message): a descriptor of a shadow rule is not
  /// decided. Its request is not refused.
  void ShadowUndecided(const grpc::RequestIds& ids, std::string_view rule, std::string_view message,
                       Instant now);
  /// "service.request_failed" (warning: reason, code, message): the response is an error.
  void Failed(const grpc::RequestIds& ids, FailureReason reason, const Error& error, Instant now);
  /// "service.charge_lost" (warning: code, message): a charge without a decision, or a return,
  /// failed.
  void ChargeLost(const grpc::RequestIds& ids, const Error& error, Instant now);
  /// "service.denied" (warning: message): the token does not allow the request.
  void Denied(const grpc::RequestIds& ids, std::string_view message, Instant now);
  /// "service.page_denied" (warning: message): the token does not allow the page.
  void PageDenied(std::string_view message, Instant now);

 private:
  struct Event : RepeatedEvent {
    Event() : RepeatedEvent(std::chrono::seconds(10)) {}
  };

  void Write(RepeatedEvent& events, std::string_view event, std::span<const LogField> fields,
             const grpc::RequestIds& ids, Instant now);

  Log& log_;
  Event undecided_;
  Event shadow_undecided_;
  std::array<Event, kFailureReasons> failed_;  ///< by reason
  Event charge_lost_;
  Event denied_;
  Event page_denied_;
};

}  // namespace weir::service
