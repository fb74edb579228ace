#include "tests/simulation/stream_producer.h"

#include <algorithm>
#include <utility>

#include "weir/aws/response_classifier.h"

namespace weir::simulation {
namespace {

using kinesis::PipelineStep;
using kinesis::PutResponse;

constexpr kinesis::WireFormat kFormat = kinesis::WireFormat::kCbor;
const kinesis::StreamAddress kAddress{.name = kStreamName, .arn = {}};

PutResponse ToPutResponse(const tl::expected<std::string, AwsFailure>& result) {
  if (!result) return tl::unexpected(result.error());
  auto entries = kinesis::ReadPutRecords(kFormat, *result);
  if (entries) return *std::move(entries);
  AwsFailure damaged;
  damaged.kind = FailureClass::kAmbiguous;
  damaged.message = entries.error().message;
  damaged.maybe_applied = true;
  return tl::unexpected(std::move(damaged));
}

Result<kinesis::ShardPage> ToPage(const tl::expected<std::string, AwsFailure>& result) {
  if (!result) return tl::unexpected(ToError(result.error()));
  return kinesis::ReadListShards(kFormat, *result);
}

}  // namespace

StreamProducer::StreamProducer(const ProducerEnvironment& place,
                               const kinesis::PipelineOptions& options, std::uint64_t seed,
                               Done done)
    : place_(place),
      pipeline_(options, seed),
      network_(place.scheduler, place.server, seed + 1),
      done_(std::move(done)) {}

void StreamProducer::Follow(PipelineStep step) {
  for (kinesis::RecordResult& result : step.results) done_(std::move(result));
  for (const PipelineStep::Send& send : step.sends) Put(send.id, *send.records);
  if (step.list) List(*step.list);
  WakeAt(step.wake);
}

void StreamProducer::Put(std::uint64_t id, const std::vector<kinesis::KinesisRecord>& records) {
  max_in_flight_ = std::max(max_in_flight_, ++in_flight_);
  Call("PutRecords", kinesis::PutRecordsBody(kFormat, kAddress, records),
       [this, id](const tl::expected<std::string, AwsFailure>& result) {
         --in_flight_;
         Follow(pipeline_.OnResponse(id, ToPutResponse(result), Now()));
       });
}

void StreamProducer::List(std::string_view token) {
  max_listings_ = std::max(max_listings_, ++listings_);
  Call("ListShards", kinesis::ListShardsBody(kFormat, kAddress, token),
       [this](const tl::expected<std::string, AwsFailure>& result) {
         --listings_;
         Follow(pipeline_.OnListed(ToPage(result), Now()));
       });
}

void StreamProducer::Call(const std::string& operation, std::string body, ResponseDone done) {
  HttpRequest request;
  request.headers = {{"content-type", std::string(kinesis::ContentType(kFormat))},
                     {"x-amz-target", std::string(kinesis::kTargetPrefix) + "." + operation}};
  request.body = std::move(body);
  network_.Send(
      std::move(request), {.response_timeout = place_.timeout},
      [operation, done = std::move(done)](tl::expected<HttpResponse, HttpFailure> result) {
        Attempt attempt =
            ClassifyResponse(std::move(result), {.operation = operation, .host = "stream"});
        if (!attempt.result) {
          AwsFailure& failure = attempt.result.error();
          failure.maybe_applied = failure.kind == FailureClass::kAmbiguous;
        }
        done(std::move(attempt.result));
      });
}

void StreamProducer::WakeAt(std::optional<Instant> when) {
  if (timer_) place_.scheduler.Cancel(*timer_);
  timer_.reset();
  if (!when) return;
  timer_ = place_.scheduler.At(*when, [this] {
    timer_.reset();
    Follow(pipeline_.OnWake(Now()));
  });
}

}  // namespace weir::simulation
