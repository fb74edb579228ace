// Which stream of a producer sends its next request. Inside of the producer only.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "weir/kinesis/producer_stream.h"

namespace weir::kinesis {

struct SendRingOptions {
  std::int64_t max_requests = 24;     ///< in flight at once, of all streams
  std::int64_t max_bytes = 33554432;  ///< the maximum size of data and partition keys in flight
};

/// The streams with a request to send, in turn, and the limits of all requests in flight. Streams
/// take turns with one request each. No stream passes one whose request waits for bytes. A request
/// larger than max_bytes leaves when no other is in flight. Not thread-safe.
class SendRing {
 public:
  struct Next {
    Producer::Stream& stream;
    PipelineStep::Send send;
    std::size_t bytes = 0;
  };

  explicit SendRing(const SendRingOptions& options) : options_(options) {}

  /// Queues a stream if its pipeline has a request that may be sent. The stream must exist as long
  /// as it is queued.
  void Enter(Producer::Stream& stream, Instant now);
  /// Takes the next request from its pipeline and counts it as in flight; nothing if none may be
  /// sent now.
  std::optional<Next> TakeNext(Instant now);
  /// Notes that a request of this size has ended.
  void OnEnded(std::size_t bytes);

 private:
  bool Fits(std::size_t bytes) const;

  SendRingOptions options_;
  std::deque<Producer::Stream*> ring_;
  std::size_t requests_ = 0;  // in flight
  std::size_t bytes_ = 0;     // the size of these requests
};

}  // namespace weir::kinesis
