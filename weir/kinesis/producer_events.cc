#include "weir/kinesis/producer_events.h"

#include <array>

namespace weir::kinesis {

void ProducerEvents::OnListed(const Result<ShardPage>& page, Instant now) {
  if (!page) Warn("kinesis.listing_failed", listing_failed_, page.error(), now);
}

// Throttles of a shard are responses for single entries. They are not logged.
void ProducerEvents::OnResponse(const PutResponse& response, Instant now) {
  if (!response) Warn("kinesis.request_failed", request_failed_, ToError(response.error()), now);
}

void ProducerEvents::OnBudget(const Result<BudgetDecision>& response, Instant now) {
  if (!response) Warn("kinesis.budget_failed", budget_failed_, response.error(), now);
}

void ProducerEvents::Warn(std::string_view event, RepeatedEvent& repeated, const Error& error,
                          Instant now) {
  if (!log_.IsEnabled(LogLevel::kWarning)) return;
  const auto suppressed = repeated.ShouldWrite(now);
  if (!suppressed) return;
  const std::array fields{LogField{"stream", stream_},
                          LogField{"message", std::string_view(error.message)},
                          LogField{"suppressed", *suppressed}};
  log_.Write(LogLevel::kWarning, event, fields);
}

}  // namespace weir::kinesis
