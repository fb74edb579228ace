// What a producer asks of the service and of who counts for all producers, and the answers.
#include <utility>

#include "weir/kinesis/producer_state.h"

namespace weir::kinesis {
namespace {

std::size_t BytesOf(const std::vector<KinesisRecord>& records) {
  std::size_t bytes = 0;
  for (const KinesisRecord& record : records) bytes += record.bytes();
  return bytes;
}

PutAnswer ToAnswer(WireFormat format, tl::expected<JsonReply, AwsFailure> reply) {
  if (!reply) return tl::unexpected(std::move(reply.error()));
  auto entries = ReadPutRecords(format, reply->body);
  if (entries) return *std::move(entries);
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

// One request of each stream in turn.
void Producer::State::Dispatch() {
  while (!ring_.empty() && std::cmp_less(requests_, config.max_connections)) {
    Stream& stream = *ring_.front();
    const PipelineStep::Send send = stream.sends.front();
    const std::size_t bytes = BytesOf(*send.records);
    if (requests_ > 0 && std::cmp_greater(bytes_ + bytes, config.max_in_flight_bytes)) return;
    ring_.pop_front();
    stream.sends.pop_front();
    if (!stream.sends.empty()) ring_.push_back(&stream);
    ++requests_;
    bytes_ += bytes;
    stream.metrics.OnSend(*send.records);
    Send(stream, send, bytes);
  }
}

void Producer::State::Send(Stream& stream, PipelineStep::Send send, std::size_t bytes) {
  ++calls_;
  JsonCall call{.operation = "PutRecords",
                .body = PutRecordsBody(config.wire, stream.address, *send.records)};
  const auto self = shared_from_this();
  parts.client.Call(
      std::move(call), CallDeadline(),
      [self, &stream, id = send.id, bytes](tl::expected<JsonReply, AwsFailure> reply) {
        self->parts.scheduler.Post(
            [self, &stream, id, bytes,
             answer = ToAnswer(self->config.wire, std::move(reply))]() mutable {
              --self->requests_;
              self->bytes_ -= bytes;
              self->EndCall();
              self->OnAnswer(stream, id, std::move(answer));
            });
      });
}

void Producer::State::OnAnswer(Stream& stream, std::uint64_t id, PutAnswer answer) {
  const Instant now = Now();
  if (const Outbox::Flight* flight = stream.pipeline.UnderWay(id)) {
    stream.metrics.OnAnswer(flight->records, answer, flight->began, now);
  }
  Follow(stream, stream.pipeline.OnAnswer(id, std::move(answer), now));
}

void Producer::State::List(Stream& stream, const std::string& token) {
  ++calls_;
  JsonCall call{.operation = "ListShards",
                .body = ListShardsBody(config.wire, stream.address, token),
                .repeatable = true};
  const auto self = shared_from_this();
  parts.client.Call(std::move(call), CallDeadline(),
                    [self, &stream](const tl::expected<JsonReply, AwsFailure>& reply) {
                      self->parts.scheduler.Post(
                          [self, &stream, page = ToPage(self->config.wire, reply)]() mutable {
                            self->EndCall();
                            self->Follow(stream,
                                         stream.pipeline.OnListed(std::move(page), self->Now()));
                          });
                    });
}

void Producer::State::Ask(Stream& stream, const BudgetAsk& ask) {
  ++calls_;
  parts.budget->Ask(
      stream.address, ask, [self = shared_from_this(), &stream, shard = ask.shard](bool granted) {
        self->parts.scheduler.Post([self, &stream, shard, granted] {
          self->EndCall();
          self->Follow(stream, stream.pipeline.OnGranted(shard, granted, self->Now()));
        });
      });
}

Deadline Producer::State::CallDeadline() const {
  return Deadline::After(parts.scheduler.clock(),
                         Saturated(config.connect_timeout) + Saturated(config.request_timeout));
}

}  // namespace weir::kinesis
