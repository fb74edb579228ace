// A producer in simulated time, with a service that a test controls. Tests only.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/kinesis/producer.h"
#include "weir/sim/sim_scheduler.h"

namespace weir::kinesis {

/// A service with one shard. It stores every record, after `trip`.
class FakeKinesis final : public JsonClient {
 public:
  explicit FakeKinesis(sim::SimScheduler& scheduler) : scheduler_(scheduler) {}

  void Call(JsonCall call, Deadline deadline, JsonDone done) override {
    ++under_way;
    max_under_way = std::max(max_under_way, under_way);
    const Instant now = scheduler_.clock().Now();
    const bool silent = is_silent && call.operation == "PutRecords";
    const Instant at = silent ? deadline.at() : now + trip;
    auto response = fails ? Denied() : silent ? NoResponse() : Respond(call);
    scheduler_.At(at, [this, done = std::move(done), response = std::move(response)]() mutable {
      --under_way;
      done(std::move(response));
    });
  }

  bool is_silent = false;
  /// False: a request to a silent service has not been sent at its deadline.
  bool connects = true;
  bool fails = false;  ///< every call, as the credentials are rejected
  nanoseconds trip = milliseconds(10);
  /// The number of entries of each request, by stream.
  std::map<std::string, std::vector<std::size_t>> requests;
  std::vector<std::string> order;  ///< the streams of the requests, in order
  int under_way = 0;
  int max_under_way = 0;

 private:
  using Json = nlohmann::json;

  tl::expected<JsonReply, AwsFailure> NoResponse() const {
    if (!connects) {
      return tl::unexpected(
          AwsFailure{.kind = FailureClass::kDeadline, .message = "could not connect"});
    }
    return tl::unexpected(AwsFailure{
        .kind = FailureClass::kAmbiguous, .message = "no answer", .maybe_applied = true});
  }

  static tl::expected<JsonReply, AwsFailure> Denied() {
    return tl::unexpected(AwsFailure{.kind = FailureClass::kAuth, .message = "denied"});
  }

  tl::expected<JsonReply, AwsFailure> Respond(const JsonCall& call) {
    const Json body = Json::parse(call.body);
    if (call.operation == "ListShards") {
      const Json range{{"StartingHashKey", "0"},
                       {"EndingHashKey", "340282366920938463463374607431768211455"}};
      const Json shard{{"ShardId", "shardId-000000000000"}, {"HashKeyRange", range}};
      return JsonReply{.body = Json{{"Shards", {shard}}}.dump()};
    }
    const std::string stream = body.value("StreamName", body.value("StreamARN", ""));
    requests[stream].push_back(body["Records"].size());
    order.push_back(stream);
    Json records = Json::array();
    for (std::size_t i = 0; i < body["Records"].size(); ++i) {
      records.push_back({{"ShardId", "shardId-000000000000"}, {"SequenceNumber", "77"}});
    }
    return JsonReply{.body = Json{{"FailedRecordCount", 0}, {"Records", records}}.dump()};
  }

  sim::SimScheduler& scheduler_;
};

class ProducerTest : public testing::Test {
 protected:
  ~ProducerTest() override { EndProducer(); }

  Producer& Make(ProducerConfig config = {}) {
    config.wire = WireFormat::kJson;
    producer_ = std::make_unique<Producer>(ProducerParts{kinesis_, scheduler_}, config, 1);
    return *producer_;
  }
  Producer::Stream& Open(const std::string& name) {
    return **producer_->Open({.name = name, .arn = ""});
  }
  /// Returns a status that lives as long as the fixture; the end of the producer may set it.
  std::optional<Status>& NewStatus() { return statuses_.emplace_back(); }
  PutDone Keep() {
    return [this](RecordResult result) { results_.push_back(std::move(result)); };
  }
  Status TryPut(Producer::Stream& stream, std::string data = "data") {
    Record record{.partition_key = "key", .data = std::move(data)};
    return producer_->TryPut(stream, std::move(record), Keep());
  }
  void EndProducer() {
    if (producer_ == nullptr) return;
    producer_->Close(Deadline::At(scheduler_.clock().Now()), [](const Status&) {});
    scheduler_.Advance(std::chrono::seconds(60));
    producer_.reset();
  }

  sim::SimScheduler scheduler_;
  FakeKinesis kinesis_{scheduler_};
  std::vector<RecordResult> results_;
  std::deque<std::optional<Status>> statuses_;
  std::unique_ptr<Producer> producer_;
};

}  // namespace weir::kinesis
