#include "weir/sim/kinesis/sim_kinesis.h"

#include <algorithm>
#include <array>

#include "weir/sim/kinesis/kinesis_body.h"
#include "weir/sim/kinesis/kinesis_put_operations.h"
#include "weir/sim/kinesis/kinesis_read_operations.h"
#include "weir/sim/kinesis/kinesis_stream_operations.h"
#include "weir/sim/kinesis/kinesis_world.h"

namespace weir::sim {
namespace {

using nlohmann::json;

constexpr std::string_view kKinesisTarget = "Kinesis_20131202.";

struct KinesisOperation {
  std::string_view name;
  json (*run)(KinesisWorld&, const json&);
};

constexpr std::array<KinesisOperation, 9> kKinesisOperations = {{
    {"PutRecords", PutRecords},
    {"PutRecord", PutRecord},
    {"ListShards", ListShards},
    {"GetShardIterator", GetShardIterator},
    {"GetRecords", GetRecords},
    {"DescribeStreamSummary", DescribeStreamSummary},
    {"CreateStream", CreateStream},
    {"SplitShard", SplitShard},
    {"MergeShards", MergeShards},
}};

const KinesisOperation& FindKinesisOperation(const HttpRequest& request) {
  const auto target = std::ranges::find(request.headers, "x-amz-target", &HttpHeader::name);
  const auto* found =
      std::ranges::find(kKinesisOperations, OperationOf(request), &KinesisOperation::name);
  if (target == request.headers.end() || !target->value.starts_with(kKinesisTarget) ||
      found == kKinesisOperations.end()) {
    throw Refusal{.type = "UnknownOperationException", .message = ""};
  }
  return *found;
}

json Run(KinesisWorld& world, const HttpRequest& request) {
  const KinesisOperation& operation = FindKinesisOperation(request);
  try {
    return operation.run(world, ReadKinesisBody(request));
  } catch (const json::exception& malformed) {
    throw Refusal{.type = "SerializationException", .message = malformed.what()};
  }
}

/// Returns whether the client is at fault: the error is not a throttle and not a simulated fault.
bool IsClientError(const Refusal& refusal) {
  return refusal.status == 400 && refusal.type != "ProvisionedThroughputExceededException" &&
         refusal.type != "LimitExceededException";
}

HttpResponse Respond(KinesisWorld& world, const HttpRequest& request) {
  const BodyType type = BodyTypeOf(request);
  try {
    return WriteKinesisBody(type, 200, Run(world, request));
  } catch (const Refusal& refusal) {
    if (IsClientError(refusal)) ++world.counts.invalid;
    return WriteKinesisBody(type, refusal);
  }
}

}  // namespace

std::uint64_t KinesisCounts::Requests(std::string_view operation) const {
  const auto found = requests.find(operation);
  return found == requests.end() ? 0 : found->second;
}

struct SimKinesis::State {
  KinesisWorld world;
};

SimKinesis::SimKinesis(const Clock& clock, std::uint64_t seed, const KinesisOptions& options)
    : state_(std::make_unique<State>(State{KinesisWorld(clock, seed, options, faults)})) {}

SimKinesis::~SimKinesis() = default;

// Every request makes the same draws before it is run.
HttpResponse SimKinesis::Handle(const HttpRequest& request) {
  KinesisWorld& world = state_->world;
  ++world.counts.requests[std::string(OperationOf(request))];
  world.reshard = world.rng.Chance(faults.reshard);
  world.miscount = world.rng.Chance(faults.miscount);
  world.refuse_list = world.rng.Chance(faults.refuse_list);
  const bool error = world.rng.Chance(faults.error);
  if (!error) return Respond(world, request);
  ++world.counts.errors;
  // Half of the requests with an error are carried out.
  if (world.details.Chance(0.5)) Respond(world, request);
  return WriteKinesisBody(
      BodyTypeOf(request),
      {.type = "InternalFailure", .message = "Internal Service Failure", .status = 500});
}

void SimKinesis::CreateStream(const std::string& name, std::uint64_t shards) {
  sim::CreateStream(state_->world, {{"StreamName", name}, {"ShardCount", shards}});
}

void SimKinesis::Split(std::string_view stream, std::uint64_t shard) {
  KinesisStream& found = state_->world.StreamNamed(stream);
  found.Split(shard, MiddleOf(found.shards().at(shard).range), state_->world.clock.Now());
}

void SimKinesis::Merge(std::string_view stream, std::uint64_t one, std::uint64_t other) {
  state_->world.StreamNamed(stream).Merge(one, other, state_->world.clock.Now());
}

const KinesisStream* SimKinesis::Stream(std::string_view name) const {
  const auto found = state_->world.streams.find(name);
  return found == state_->world.streams.end() ? nullptr : &found->second;
}

std::vector<Delivery> SimKinesis::Delivered(std::string_view stream) const {
  return Stream(stream)->Delivered();
}

const KinesisCounts& SimKinesis::counts() const { return state_->world.counts; }

}  // namespace weir::sim
