#include "weir/kinesis/producer_end.h"

namespace weir::kinesis {

Done<void> ProducerEnd::EndDelivery() {
  --deliveries_;
  return MarkEndedIfIdle();
}

Done<void> ProducerEnd::OnCallsEnded() {
  calls_have_ended_ = true;
  return MarkEndedIfIdle();
}

Done<void> ProducerEnd::WhenEnded(Done<void> done) {
  if (has_ended()) return done;
  on_end_ = std::move(done);
  return nullptr;
}

Done<void> ProducerEnd::MarkEndedIfIdle() {
  if (!calls_have_ended_ || !has_delivered()) return nullptr;
  has_ended_ = true;
  return std::exchange(on_end_, nullptr);
}

}  // namespace weir::kinesis
