#include "weir/service/request_log.h"

#include <array>
#include <vector>

namespace weir::service {

void RequestLog::Write(RepeatedEvent& events, std::string_view event,
                       std::span<const LogField> fields, const grpc::RequestIds& ids, Instant now) {
  const auto suppressed = events.ShouldWrite(now);
  if (!suppressed) return;
  std::vector<LogField> all(fields.begin(), fields.end());
  if (!ids.request.empty()) all.push_back({"request_id", std::string_view(ids.request)});
  if (!ids.trace.empty()) all.push_back({"trace_id", std::string_view(ids.trace)});
  all.push_back({"suppressed", *suppressed});
  log_.Write(LogLevel::kWarning, event, all);
}

void RequestLog::Undecided(const grpc::RequestIds& ids, std::string_view rule,
                           std::string_view message, Instant now) {
  const std::array fields = {LogField{"rule", rule}, LogField{"message", message}};
  Write(undecided_, "service.undecided", std::span(fields).subspan(rule.empty() ? 1 : 0), ids, now);
}

void RequestLog::ShadowUndecided(const grpc::RequestIds& ids, std::string_view rule,
                                 std::string_view message, Instant now) {
  const std::array fields = {LogField{"rule", rule}, LogField{"message", message}};
  Write(shadow_undecided_, "service.shadow_undecided", fields, ids, now);
}

void RequestLog::Failed(const grpc::RequestIds& ids, FailureReason reason, const Error& error,
                        Instant now) {
  const std::array fields = {LogField{"reason", NameOf(reason)},
                             LogField{"code", CodeName(error.code)},
                             LogField{"message", std::string_view(error.message)}};
  Write(failed_[static_cast<std::size_t>(reason)], "service.request_failed", fields, ids, now);
}

void RequestLog::ChargeLost(const grpc::RequestIds& ids, const Error& error, Instant now) {
  const std::array fields = {LogField{"code", CodeName(error.code)},
                             LogField{"message", std::string_view(error.message)}};
  Write(charge_lost_, "service.charge_lost", fields, ids, now);
}

void RequestLog::Denied(const grpc::RequestIds& ids, std::string_view message, Instant now) {
  const std::array fields = {LogField{"message", message}};
  Write(denied_, "service.denied", fields, ids, now);
}

void RequestLog::PageDenied(std::string_view message, Instant now) {
  const std::array fields = {LogField{"message", message}};
  Write(page_denied_, "service.page_denied", fields, {}, now);
}

}  // namespace weir::service
