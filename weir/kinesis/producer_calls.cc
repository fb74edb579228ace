// The calls of a producer to the service and to the shared budget, and their results.
#include <algorithm>
#include <utility>

#include "weir/kinesis/producer_state.h"

namespace weir::kinesis {
namespace {

/// The producer waits this long after the last expiry in a request for its response. It is less
/// than kLastWait, so that the results of the records say why the request failed.
constexpr nanoseconds kAnswerWait = kLastWait - std::chrono::milliseconds(100);

Instant LastExpiry(const std::vector<KinesisRecord>& records) {
  Instant last = records.front().expires;
  for (const KinesisRecord& record : records) {
    for (const UserRecord& user : record.records) last = std::max(last, user.expires);
  }
  return last;
}

PutAnswer ToAnswer(WireFormat format, tl::expected<JsonReply, AwsFailure> reply) {
  if (!reply) return tl::unexpected(std::move(reply.error()));
  auto entries = ReadPutRecords(format, reply->body);
  if (entries) return *std::move(entries);
  // The response cannot be read: the records may have been stored.
  return tl::unexpected(AwsFailure{.kind = FailureClass::kAmbiguous,
                                   .code = "UnreadableAnswer",
                                   .message = std::move(entries.error().message),
                                   .maybe_applied = true});
}

Result<ShardPage> ToPage(WireFormat format, const tl::expected<JsonReply, AwsFailure>& reply) {
  if (!reply) return Fail(ToError(reply.error()));
  return ReadListShards(format, reply->body);
}

}  // namespace

void Producer::State::EnterRing(Stream& stream) {
  if (stream.is_in_ring || !stream.pipeline.NextSend(Now())) return;
  stream.is_in_ring = true;
  ring_.push_back(&stream);
}

// Streams take turns with one request each. No stream passes one whose request waits for bytes.
void Producer::State::SendPending() {
  while (!ring_.empty() && std::cmp_less(requests_, config.max_connections)) {
    Stream& stream = *ring_.front();
    const Instant now = Now();
    const std::optional<std::size_t> bytes = stream.pipeline.NextSend(now);
    const bool fits =
        !bytes || requests_ == 0 || !std::cmp_greater(bytes_ + *bytes, config.max_in_flight_bytes);
    if (!fits) return;
    ring_.pop_front();
    stream.is_in_ring = false;
    if (!bytes) continue;
    ++requests_;
    bytes_ += *bytes;
    const PipelineStep::Send send = *stream.pipeline.TakeSend(now);
    EnterRing(stream);
    stream.metrics.OnSend(*send.records);
    SendRequest(stream, send, *bytes);
  }
}

void Producer::State::SendRequest(Stream& stream, PipelineStep::Send send, std::size_t bytes) {
  ++calls_;
  JsonCall call{.operation = "PutRecords",
                .body = PutRecordsBody(config.wire, stream.address, *send.records)};
  const auto self = shared_from_this();
  parts.client.Call(
      std::move(call), PutDeadline(*send.records),
      [self, &stream, id = send.id, bytes](tl::expected<JsonReply, AwsFailure> reply) {
        self->parts.scheduler.Post(
            [self, &stream, id, bytes,
             answer = ToAnswer(self->config.wire, std::move(reply))]() mutable {
              --self->requests_;
              self->bytes_ -= bytes;
              self->OnAnswer(stream, id, std::move(answer));
              // Last: the producer's owner may then destroy the store and the scheduler.
              self->EndCall();
            });
      });
}

void Producer::State::OnAnswer(Stream& stream, std::uint64_t id, PutAnswer answer) {
  const Instant now = Now();
  stream.events.OnAnswer(answer, now);
  if (const RequestWindow::Flight* flight = stream.pipeline.FindInFlight(id)) {
    stream.metrics.OnAnswer(flight->records, answer, flight->began, now);
  }
  CarryOut(stream, stream.pipeline.OnAnswer(id, std::move(answer), now));
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
                          [self, &stream, page = ToPage(self->config.wire, reply)]() mutable {
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
       shard = request.shard](Result<BudgetDecision> answer) mutable {
        self->parts.scheduler.Post([self, &stream, shard, answer = std::move(answer)] {
          self->OnBudget(stream, shard, answer);
          self->EndCall();
        });
      });
}

// An error: the store did not respond, and this producer's own limiter alone limits the shard.
void Producer::State::OnBudget(Stream& stream, ShardId shard,
                               const Result<BudgetDecision>& answer) {
  const Instant now = Now();
  stream.events.OnBudget(answer, now);
  const BudgetDecision decision = answer.value_or(BudgetDecision{.granted = true});
  CarryOut(stream, stream.pipeline.OnBudget(shard, decision, now));
}

Deadline Producer::State::CallDeadline() const {
  return Deadline::After(parts.scheduler.clock(),
                         Saturated(config.connect_timeout) + Saturated(config.request_timeout));
}

// If no record of a request can be retried any more, the producer waits only a little longer for
// its response.
Deadline Producer::State::PutDeadline(const std::vector<KinesisRecord>& records) const {
  const Deadline usual = CallDeadline();
  const Instant enough = usual.at() - kAnswerWait;
  if (records.front().expires >= enough) return usual;
  const Instant last = LastExpiry(records);
  return last >= enough ? usual : Deadline::At(last + kAnswerWait);
}

}  // namespace weir::kinesis
