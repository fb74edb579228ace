// The state that the operations of the simulated Kinesis share.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "weir/base/rng.h"
#include "weir/base/time.h"
#include "weir/sim/dynamodb/dynamo_request.h"
#include "weir/sim/kinesis/kinesis_stream.h"
#include "weir/sim/kinesis/sim_kinesis.h"

namespace weir::sim {

struct KinesisWorld {
  KinesisWorld(const Clock& its_clock, std::uint64_t seed, const KinesisOptions& its_options,
               const KinesisFaults& its_faults)
      : clock(its_clock),
        rng(seed),
        details(rng.Next()),
        options(its_options),
        faults(its_faults) {}

  /// Returns the stream of the request's StreamName or StreamARN. Refuses a request with none or
  /// both of them, and an unknown stream.
  KinesisStream& StreamOf(const RequestFields& fields);
  KinesisStream& StreamNamed(std::string_view name);
  /// Draws a shard, and splits it at a drawn hash or merges it with the next shard above it.
  void Reshard(KinesisStream& stream);
  bool CanAddShards(const KinesisStream& stream, std::size_t more) const {
    return stream.OpenShards().size() + more <= options.max_open_shards;
  }

  const Clock& clock;
  Rng rng;      ///< decides whether a fault happens
  Rng details;  ///< draws the details of a fault
  const KinesisOptions options;
  const KinesisFaults& faults;
  KinesisCounts counts;
  std::map<std::string, KinesisStream, std::less<>> streams;
  bool reshard = false;      ///< drawn for this request
  bool miscount = false;     ///< drawn for this request
  bool refuse_list = false;  ///< drawn for this request
};

[[noreturn]] void Refuse(std::string type, std::string message);
/// Throws a ValidationException, with AWS's message, for a member and the condition that it
/// violates.
[[noreturn]] void RefuseMember(std::string_view member, std::string_view must);
/// Returns the field, a whole number. Refuses a request in which it is out of these bounds, both
/// included.
std::uint64_t NumberIn(const RequestFields& fields, std::string_view name, std::uint64_t least,
                       std::uint64_t most);
/// Returns the number of the shard with that name. Refuses a malformed name and an unknown shard.
std::uint64_t ShardIn(const KinesisStream& stream, const std::string& name);

}  // namespace weir::sim
