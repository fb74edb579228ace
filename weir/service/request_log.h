// What the rate limit services log of single requests.
#pragma once

#include <span>
#include <string_view>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/grpc/request_ids.h"
#include "weir/telemetry/log.h"
#include "weir/telemetry/repeated_event.h"

namespace weir::service {

/// Each event is written at most once in 10 s, with the number of `suppressed` ones; `request_id`
/// and `trace_id` are among its fields if the request has them. Any thread.
class RequestLog {
 public:
  /// `log` must outlive it.
  explicit RequestLog(Log& log) : log_(log) {}

  /// "service.undecided" (warning: rule, message): a descriptor cannot be decided.
  void Undecided(const grpc::RequestIds& ids, std::string_view rule, std::string_view message,
                 Instant now);
  /// "service.request_failed" (warning: code, message): the response is an error.
  void Failed(const grpc::RequestIds& ids, const Error& error, Instant now);
  /// "service.charge_lost" (warning: code, message): a charge without a decision, or a return,
  /// failed.
  void ChargeLost(const grpc::RequestIds& ids, const Error& error, Instant now);
  /// "service.denied" (warning: message): the token does not allow the request.
  void Denied(const grpc::RequestIds& ids, std::string_view message, Instant now);

 private:
  void Write(RepeatedEvent& events, std::string_view event, std::span<const LogField> fields,
             const grpc::RequestIds& ids, Instant now);

  Log& log_;
  RepeatedEvent undecided_{std::chrono::seconds(10)};
  RepeatedEvent failed_{std::chrono::seconds(10)};
  RepeatedEvent charge_lost_{std::chrono::seconds(10)};
  RepeatedEvent denied_{std::chrono::seconds(10)};
};

}  // namespace weir::service
