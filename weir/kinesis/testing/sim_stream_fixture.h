// Runs a pipeline on a simulated stream, over its wire, in simulated time. Tests only.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/kinesis/pipeline/pipeline.h"
#include "weir/kinesis/testing/sim_client_fixture.h"
#include "weir/kinesis/wire/wire.h"
#include "weir/sim/kinesis/sim_kinesis.h"
#include "weir/sim/sim_network.h"
#include "weir/sim/sim_scheduler.h"

namespace weir::kinesis {

/// Stream "s" of `shards` shards. Responses take 1 to 20 ms.
class SimStream {
 public:
  /// A result, and when it came.
  struct Told {
    RecordResult result;
    nanoseconds after;  ///< since the put
    Instant at;
  };

  SimStream(std::uint64_t shards, const PipelineOptions& options,
            const sim::KinesisLimits& limits = {},
            std::size_t max_record_bytes = std::size_t{10} << 20)
      : scheduler(1),
        server(scheduler.clock(), 2,
               {.limits = limits,
                .max_record_bytes = max_record_bytes,
                .max_request_bytes = std::size_t{10} << 20,
                .max_open_shards = 5'000}),
        network(scheduler, server, 3),
        pipeline(options, 4) {
    server.CreateStream("s", shards);
    network.faults.shortest_trip = milliseconds(1);
    network.faults.longest_trip = milliseconds(10);
  }

  Instant Now() const { return scheduler.clock().Now(); }
  void Begin() { Follow(pipeline.OnWake(Now())); }
  void Put(std::string key, std::string data, nanoseconds ttl = std::chrono::seconds(30)) {
    UserRecord record{.number = records++,
                      .partition_key = std::move(key),
                      .data = std::move(data),
                      .deadline = Now() + milliseconds(100),
                      .expires = Now() + ttl};
    puts_.push_back(Now());
    record.hash = HashOfPartitionKey(record.partition_key);
    Follow(pipeline.Put(std::move(record), Now()));
  }
  /// Puts this number of records in each second, evenly, each with a key of its own and `data`
  /// bytes.
  void PutEvenly(std::size_t a_second, nanoseconds time, std::size_t data = 20) {
    constexpr nanoseconds kStep = milliseconds(10);
    for (nanoseconds spent{0}; spent < time; spent += kStep) {
      for (std::size_t i = 0; i < a_second / 100; ++i) {
        Put("key" + std::to_string(records), std::string(data, 'x'));
      }
      scheduler.Advance(kStep);
    }
  }
  std::size_t StoredSince(Instant from) const {
    std::size_t stored = 0;
    for (const auto& [number, told] : results) {
      if (told.result.stored && told.at >= from) ++stored;
    }
    return stored;
  }

  sim::SimScheduler scheduler;
  sim::SimKinesis server;
  sim::SimTransport network;
  Pipeline pipeline;
  StreamAddress address{.name = "s", .arn = {}};
  nanoseconds budget_trip{0};  ///< until the shared budget grants a request
  std::uint64_t records = 0;
  std::map<std::uint64_t, Told> results;

 private:
  using Response = tl::expected<std::string, AwsFailure>;
  static constexpr WireFormat kFormat = WireFormat::kCbor;

  void Follow(PipelineStep step) {
    for (RecordResult& result : step.results) {
      const std::uint64_t number = result.number;
      results.emplace(number, Told{std::move(result), Now() - puts_[number], Now()});
    }
    for (const PipelineStep::Send& send : step.sends) {
      Call("PutRecords", PutRecordsBody(kFormat, address, *send.records),
           [this, id = send.id](const Response& response) {
             Follow(pipeline.OnResponse(id, ToEntries(response), Now()));
           });
    }
    if (step.list) {
      Call("ListShards", ListShardsBody(kFormat, address, *step.list),
           [this](const Response& response) {
             Follow(pipeline.OnListed(ToShards(response), Now()));
           });
    }
    for (const BudgetRequest& ask : step.budget_requests) {
      scheduler.At(Now() + budget_trip, [this, shard = ask.shard] {
        Follow(pipeline.OnBudget(shard, {.granted = true}, Now()));
      });
    }
    if (timer_) scheduler.Cancel(*timer_);
    timer_.reset();
    if (step.wake) timer_ = scheduler.At(*step.wake, [this] { Begin(); });
  }
  static PutResponse ToEntries(const Response& response) {
    if (!response) return tl::unexpected(response.error());
    return *ReadPutRecords(kFormat, *response);
  }
  static Result<ShardPage> ToShards(const Response& response) {
    if (!response) return tl::unexpected(ToError(response.error()));
    return ReadListShards(kFormat, *response);
  }
  void Call(const std::string& operation, std::string body,
            std::move_only_function<void(const Response&)> done) {
    client_.Call({.operation = operation, .body = std::move(body)}, Deadline::Never(),
                 [done = std::move(done)](tl::expected<JsonReply, AwsFailure> reply) mutable {
                   done(std::move(reply).map([](JsonReply got) { return got.body; }));
                 });
  }

  SimClient client_{network, kFormat};
  std::vector<Instant> puts_;
  std::optional<TimerId> timer_;
};

}  // namespace weir::kinesis
