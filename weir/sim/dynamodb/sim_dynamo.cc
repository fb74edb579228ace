#include "weir/sim/dynamodb/sim_dynamo.h"

#include <fmt/chrono.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "weir/sim/dynamodb/dynamo_query.h"
#include "weir/sim/dynamodb/dynamo_read_operations.h"
#include "weir/sim/dynamodb/dynamo_scan.h"
#include "weir/sim/dynamodb/dynamo_table_operations.h"
#include "weir/sim/dynamodb/dynamo_transactions.h"
#include "weir/sim/dynamodb/dynamo_world.h"
#include "weir/sim/dynamodb/dynamo_write_operations.h"
#include "weir/sim/dynamodb/streams/dynamo_stream_operations.h"

namespace weir::sim {
namespace {

using nlohmann::json;

constexpr std::string_view kDynamoTarget = "DynamoDB_20120810.";
constexpr std::string_view kStreamsTarget = "DynamoDBStreams_20120810.";

/// How a throttle fault refuses an operation: as a whole before it begins, or, for a transaction,
/// by one of its items.
enum class Throttle { kWhole, kByItem, kNever };

struct DynamoOperation {
  std::string_view name;
  json (*run)(DynamoWorld&, const json&);
  Throttle throttle = Throttle::kWhole;
  std::string_view target = kDynamoTarget;
};

constexpr std::array<DynamoOperation, 20> kDynamoOperations = {{
    {"GetItem", GetItem},
    {"BatchGetItem", BatchGetItem},
    {"Query", Query},
    {"Scan", Scan},
    {"PutItem", PutItem},
    {"UpdateItem", UpdateItem},
    {"DeleteItem", DeleteItem},
    {"BatchWriteItem", BatchWriteItem},
    {"TransactWriteItems", TransactWriteItems, Throttle::kByItem},
    {"TransactGetItems", TransactGetItems},
    {"CreateTable", CreateTable, Throttle::kNever},
    {"DescribeTable", DescribeTable, Throttle::kNever},
    {"DeleteTable", DeleteTable, Throttle::kNever},
    {"UpdateTimeToLive", UpdateTimeToLive, Throttle::kNever},
    {"DescribeTimeToLive", DescribeTimeToLive, Throttle::kNever},
    {"UpdateContinuousBackups", UpdateContinuousBackups, Throttle::kNever},
    {"DescribeContinuousBackups", DescribeContinuousBackups, Throttle::kNever},
    {"DescribeStream", DescribeStream, Throttle::kWhole, kStreamsTarget},
    {"GetShardIterator", GetShardIterator, Throttle::kWhole, kStreamsTarget},
    {"GetRecords", GetStreamRecords, Throttle::kWhole, kStreamsTarget},
}};

const std::string* TargetOf(const HttpRequest& request) {
  const auto found = std::ranges::find(request.headers, "x-amz-target", &HttpHeader::name);
  return found == request.headers.end() ? nullptr : &found->value;
}

const DynamoOperation& FindDynamoOperation(const HttpRequest& request) {
  const std::string* target = TargetOf(request);
  const auto* found =
      std::ranges::find(kDynamoOperations, OperationOf(request), &DynamoOperation::name);
  if (target == nullptr || found == kDynamoOperations.end() ||
      !target->starts_with(found->target)) {
    throw Refusal{.type = "UnknownOperationException", .message = ""};
  }
  return *found;
}

json ReadBody(const HttpRequest& request) {
  json body = json::parse(request.body, nullptr, false);
  if (body.is_object()) return body;
  throw Refusal{.type = "SerializationException", .message = "the body is not a JSON object"};
}

/// Makes the draws that every request makes.
void DrawFaults(DynamoWorld& world) {
  world.throttled = world.rng.Chance(world.faults.throttle);
  world.conflict = world.rng.Chance(world.faults.conflict);
  world.in_progress = world.rng.Chance(world.faults.in_progress);
}

json Run(DynamoWorld& world, const HttpRequest& request) {
  DrawFaults(world);
  const DynamoOperation& operation = FindDynamoOperation(request);
  const json body = ReadBody(request);
  if (world.throttled && operation.throttle == Throttle::kWhole) {
    ++world.counts.throttled;
    RefuseForThroughput(world.faults.throttling_reason);
  }
  try {
    return operation.run(world, body);
  } catch (const json::exception& malformed) {
    throw Refusal{.type = "SerializationException", .message = malformed.what()};
  }
}

}  // namespace

std::string_view OperationOf(const HttpRequest& request) {
  const std::string* target = TargetOf(request);
  if (target == nullptr) return {};
  const std::string_view text = *target;
  const std::size_t dot = text.find('.');
  return dot == text.npos ? std::string_view() : text.substr(dot + 1);
}

std::uint64_t DynamoCounts::Requests(std::string_view operation) const {
  const auto found = requests.find(operation);
  return found == requests.end() ? 0 : found->second;
}

std::uint64_t DynamoCounts::AllRequests() const {
  std::uint64_t sum = 0;
  for (const auto& [operation, count] : requests) sum += count;
  return sum;
}

struct SimDynamo::State {
  DynamoWorld world;
};

SimDynamo::SimDynamo(const Clock& clock, std::uint64_t seed)
    : state_(std::make_unique<State>(State{DynamoWorld(clock, seed, faults)})) {}

SimDynamo::~SimDynamo() = default;

namespace {

// Adds the headers that `faults` configures, to errors too.
void AddHeaders(DynamoWorld& world, HttpResponse& response) {
  if (world.faults.sends_date) {
    const auto now = std::chrono::sys_time<milliseconds>(milliseconds(world.clock.WallNow().value));
    response.headers.push_back(
        {"date", fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT",
                             std::chrono::floor<std::chrono::seconds>(now))});
  }
  if (world.faults.wrong_checksum <= 0) return;
  const bool is_wrong = world.checksum_rng.Chance(world.faults.wrong_checksum);
  world.counts.wrong_checksums += is_wrong ? 1 : 0;
  const auto* body = reinterpret_cast<const unsigned char*>(response.body.data());
  const unsigned long checksum = crc32_z(0, body, response.body.size());
  response.headers.push_back({"x-amz-crc32", std::to_string(is_wrong ? checksum ^ 1U : checksum)});
}

}  // namespace

HttpResponse SimDynamo::Handle(const HttpRequest& request) {
  HttpResponse response = Respond(request);
  AddHeaders(state_->world, response);
  return response;
}

HttpResponse SimDynamo::Respond(const HttpRequest& request) {
  DynamoWorld& world = state_->world;
  ++world.counts.requests[std::string(OperationOf(request))];
  // Numbers the request in the streams of all tables.
  for (auto& [name, kept] : world.tables) ++kept.table.request;
  try {
    return ToResponse(Run(world, request));
  } catch (const Refusal& refusal) {
    return ToResponse(refusal);
  }
}

std::size_t SimDynamo::SweepTtl() {
  std::size_t swept = 0;
  for (auto& [name, kept] : state_->world.tables) swept += kept.table.SweepTtl();
  return swept;
}

void SimDynamo::ReplaceShard(std::string_view table, std::size_t shard, bool split) {
  TableEntry& entry = state_->world.tables.find(table)->second;
  entry.stream->Replace(shard, split, entry.table, state_->world.clock.WallNow());
}

const DynamoStream* SimDynamo::Stream(std::string_view table) const {
  const auto found = state_->world.tables.find(table);
  return found == state_->world.tables.end() || !found->second.stream ? nullptr
                                                                      : &*found->second.stream;
}

const DynamoTable* SimDynamo::Table(std::string_view name) const {
  const auto found = state_->world.tables.find(name);
  return found == state_->world.tables.end() ? nullptr : &found->second.table;
}

const DynamoCounts& SimDynamo::counts() const { return state_->world.counts; }

}  // namespace weir::sim
