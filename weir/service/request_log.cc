#include "weir/service/request_log.h"

#include <array>
#include <vector>

namespace weir::service {
namespace {

std::array<LogField, 2> FieldsOf(const Error& error) {
  return {LogField{"code", CodeName(error.code)},
          LogField{"message", std::string_view(error.message)}};
}

}  // namespace

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
  Write(undecided_, "service.undecided", fields, ids, now);
}

void RequestLog::Failed(const grpc::RequestIds& ids, const Error& error, Instant now) {
  Write(failed_, "service.request_failed", FieldsOf(error), ids, now);
}

void RequestLog::ChargeLost(const grpc::RequestIds& ids, const Error& error, Instant now) {
  Write(charge_lost_, "service.charge_lost", FieldsOf(error), ids, now);
}

void RequestLog::Denied(const grpc::RequestIds& ids, std::string_view message, Instant now) {
  const std::array fields = {LogField{"message", message}};
  Write(denied_, "service.denied", fields, ids, now);
}

}  // namespace weir::service
