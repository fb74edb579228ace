// What the operations of the simulated Kinesis work on.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "weir/base/rng.h"
#include "weir/base/time.h"
#include "weir/sim/dynamo_request.h"
#include "weir/sim/kinesis_stream.h"
#include "weir/sim/sim_kinesis.h"

namespace weir::sim {

struct KinesisWorld {
  KinesisWorld(const Clock& its_clock, std::uint64_t seed, const KinesisOptions& its_options,
               const KinesisFaults& its_faults)
      : clock(its_clock),
        rng(seed),
        details(rng.Next()),
        options(its_options),
        faults(its_faults) {}

  /// Of the request's StreamName or StreamARN, of which it must have one. Refuses a stream that is
  /// not there.
  KinesisStream& StreamOf(const Fields& fields);
  KinesisStream& StreamNamed(std::string_view name);
  /// Draws a shard; splits it at a drawn place, or merges it with the one above it.
  void Reshard(KinesisStream& stream);
  bool HasRoom(const KinesisStream& stream, std::size_t more) const {
    return stream.OpenShards().size() + more <= options.most_open_shards;
  }

  const Clock& clock;
  Rng rng;      ///< whether a fault happens
  Rng details;  ///< what it does then
  const KinesisOptions options;
  const KinesisFaults& faults;
  KinesisCounts counts;
  std::map<std::string, KinesisStream, std::less<>> streams;
  bool reshard = false;      ///< drawn for this request
  bool miscount = false;     ///< drawn for this request
  bool refuse_list = false;  ///< drawn for this request
};

[[noreturn]] void Refuse(std::string type, std::string message);
/// A ValidationException in AWS's words: which member, and what it must be.
[[noreturn]] void RefuseMember(std::string_view member, std::string_view must);
/// A whole number in these bounds, both included.
std::uint64_t NumberIn(const Fields& fields, std::string_view name, std::uint64_t least,
                       std::uint64_t most);
/// The shard of that name. Refuses what is none, or not of this stream.
std::uint64_t ShardIn(const KinesisStream& stream, const std::string& name);

// The operations. Each takes the request's body and returns the answer's (null: it has none), or
// throws a Refusal.
nlohmann::json PutRecords(KinesisWorld& world, const nlohmann::json& body);
nlohmann::json PutRecord(KinesisWorld& world, const nlohmann::json& body);
nlohmann::json ListShards(KinesisWorld& world, const nlohmann::json& body);
nlohmann::json GetShardIterator(KinesisWorld& world, const nlohmann::json& body);
nlohmann::json GetRecords(KinesisWorld& world, const nlohmann::json& body);
nlohmann::json DescribeStreamSummary(KinesisWorld& world, const nlohmann::json& body);
nlohmann::json CreateStream(KinesisWorld& world, const nlohmann::json& body);
nlohmann::json SplitShard(KinesisWorld& world, const nlohmann::json& body);
nlohmann::json MergeShards(KinesisWorld& world, const nlohmann::json& body);

}  // namespace weir::sim
