#include "weir/kinesis/send_ring.h"

#include <utility>

namespace weir::kinesis {

void SendRing::Enter(Producer::Stream& stream, Instant now) {
  if (stream.is_in_ring || !stream.pipeline.NextSend(now)) return;
  stream.is_in_ring = true;
  ring_.push_back(&stream);
}

std::optional<SendRing::Next> SendRing::TakeNext(Instant now) {
  while (!ring_.empty() && std::cmp_less(requests_, options_.max_requests)) {
    Producer::Stream& stream = *ring_.front();
    const std::optional<std::size_t> bytes = stream.pipeline.NextSend(now);
    if (bytes && !Fits(*bytes)) return std::nullopt;
    ring_.pop_front();
    stream.is_in_ring = false;
    if (!bytes) continue;
    ++requests_;
    bytes_ += *bytes;
    const PipelineStep::Send send = *stream.pipeline.TakeSend(now);
    Enter(stream, now);
    return Next{stream, send, *bytes};
  }
  return std::nullopt;
}

bool SendRing::Fits(std::size_t bytes) const {
  return requests_ == 0 || !std::cmp_greater(bytes_ + bytes, options_.max_bytes);
}

void SendRing::OnEnded(std::size_t bytes) {
  --requests_;
  bytes_ -= bytes;
}

}  // namespace weir::kinesis
