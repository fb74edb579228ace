// The calls of a producer to the service and to the shared budget, and their results.
#include <utility>

#include "weir/kinesis/producer_state.h"
#include "weir/kinesis/service_calls.h"

namespace weir::kinesis {
void Producer::State::SendPending() {
  while (const std::optional<SendRing::Next> next = ring_.TakeNext(Now())) {
    next->stream.metrics.OnSend(*next->send.records);
    SendRequest(*next);
  }
}

void Producer::State::SendRequest(const SendRing::Next& next) {
  ++calls_;
  Stream& stream = next.stream;
  const std::vector<KinesisRecord>& records = *next.send.records;
  JsonCall call{.operation = "PutRecords",
                .body = PutRecordsBody(config.wire, stream.address, records)};
  const auto self = shared_from_this();
  parts.client.Call(
      std::move(call), PutDeadline(CallDeadline(), records),
      [self, &stream, id = next.send.id,
       bytes = next.bytes](tl::expected<JsonReply, AwsFailure> reply) {
        self->parts.scheduler.Post(
            [self, &stream, id, bytes,
             response = PutResponseOf(self->config.wire, std::move(reply))]() mutable {
              self->ring_.OnEnded(bytes);
              self->OnResponse(stream, id, std::move(response));
              // EndCall comes last: the producer's owner may then destroy the client
              // and the scheduler.
              self->EndCall();
            });
      });
}

void Producer::State::OnResponse(Stream& stream, std::uint64_t id, PutResponse response) {
  const Instant now = Now();
  stream.events.OnResponse(response, now);
  if (const RequestWindow::Flight* flight = stream.pipeline.FindInFlight(id)) {
    stream.metrics.OnResponse(flight->records, response, flight->began, now);
  }
  CarryOut(stream, stream.pipeline.OnResponse(id, std::move(response), now));
}

void Producer::State::SendListing(Stream& stream, const std::string& token) {
  ++calls_;
  JsonCall call{.operation = "ListShards",
                .body = ListShardsBody(config.wire, stream.address, token),
                .repeatable = true};
  const auto self = shared_from_this();
  parts.client.Call(std::move(call), CallDeadline(),
                    [self, &stream](const tl::expected<JsonReply, AwsFailure>& reply) {
                      self->parts.scheduler.Post(
                          [self, &stream, page = ShardPageOf(self->config.wire, reply)]() mutable {
                            const Instant now = self->Now();
                            // Without records the failure of a listing does not matter yet.
                            if (stream.pipeline.pending() > 0) stream.events.OnListed(page, now);
                            self->CarryOut(stream, stream.pipeline.OnListed(std::move(page), now));
                            self->EndCall();
                          });
                    });
}

void Producer::State::SendBudgetRequest(Stream& stream, const BudgetRequest& request) {
  ++calls_;
  parts.budget->RequestBudget(
      stream.address, request,
      [self = shared_from_this(), &stream,
       shard = request.shard](Result<BudgetDecision> response) mutable {
        self->parts.scheduler.Post([self, &stream, shard, response = std::move(response)] {
          self->OnBudget(stream, shard, response);
          self->EndCall();
        });
      });
}

// If `response` is an error, the store did not respond, and only this producer's own limiter limits
// the shard.
void Producer::State::OnBudget(Stream& stream, ShardId shard,
                               const Result<BudgetDecision>& response) {
  const Instant now = Now();
  stream.events.OnBudget(response, now);
  const BudgetDecision decision = response.value_or(BudgetDecision{.granted = true});
  CarryOut(stream, stream.pipeline.OnBudget(shard, decision, now));
}

Deadline Producer::State::CallDeadline() const {
  return Deadline::After(parts.scheduler.clock(),
                         Saturated(config.connect_timeout) + Saturated(config.request_timeout));
}

}  // namespace weir::kinesis
