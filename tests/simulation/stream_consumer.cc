// Reads a stream in the way of a consumer.
#include <absl/strings/escaping.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/simulation/stream_oracle.h"

namespace weir::simulation {
namespace {

using nlohmann::json;

json Ask(sim::SimServer& server, const std::string& operation, const json& body) {
  HttpRequest request;
  request.headers = {{"content-type", "application/x-amz-json-1.1"},
                     {"x-amz-target", "Kinesis_20131202." + operation}};
  request.body = body.dump();
  return json::parse(server.Handle(request).body);
}

struct Shard {
  std::string name;
  sim::HashSpan range;
};

Shard ToShard(const json& shard) {
  const json& range = shard.at("HashKeyRange");
  return {.name = shard.at("ShardId"),
          .range = {.first = *sim::ReadHash(range.at("StartingHashKey").get<std::string>()),
                    .last = *sim::ReadHash(range.at("EndingHashKey").get<std::string>())}};
}

/// Returns the shards without parents, of all pages.
std::deque<Shard> ReadRoots(sim::SimServer& server) {
  std::deque<Shard> roots;
  json page = Ask(server, "ListShards", {{"StreamName", kStreamName}});
  while (true) {
    for (const json& shard : page.at("Shards")) {
      if (!shard.contains("ParentShardId")) roots.push_back(ToShard(shard));
    }
    if (!page.contains("NextToken")) return roots;
    page = Ask(server, "ListShards", {{"NextToken", page["NextToken"]}});
  }
}

void DeliverPage(const json& page, const Shard& shard, std::vector<sim::Delivery>& out) {
  for (const json& record : page.at("Records")) {
    std::string data;
    absl::Base64Unescape(record.at("Data").get_ref<const std::string&>(), &data);
    auto some = sim::Deliver({.shard = shard.name,
                              .range = shard.range,
                              .sequence_number = record.at("SequenceNumber"),
                              .partition_key = record.at("PartitionKey"),
                              .data = std::move(data)});
    std::ranges::move(some, std::back_inserter(out));
  }
}

/// Reads a shard to its end. Returns the children of a closed shard.
json ConsumeShard(sim::SimServer& server, const Shard& shard, std::vector<sim::Delivery>& out) {
  json iterator = Ask(server, "GetShardIterator",
                      {{"StreamName", kStreamName},
                       {"ShardId", shard.name},
                       {"ShardIteratorType", "TRIM_HORIZON"}})["ShardIterator"];
  while (true) {
    json page = Ask(server, "GetRecords", {{"ShardIterator", iterator}, {"Limit", 50}});
    DeliverPage(page, shard, out);
    if (page.contains("ChildShards")) return page["ChildShards"];
    const bool at_end = page.at("Records").empty() && page.at("MillisBehindLatest") == 0;
    if (at_end) return json::array();
    iterator = page.at("NextShardIterator");
  }
}

}  // namespace

std::vector<sim::Delivery> Consume(sim::SimServer& server) {
  std::vector<sim::Delivery> delivered;
  std::set<std::string> done;
  std::deque<Shard> next = ReadRoots(server);
  for (; !next.empty(); next.pop_front()) {
    const Shard shard = next.front();
    const json children = ConsumeShard(server, shard, delivered);
    done.insert(shard.name);
    for (const json& child : children) {
      const bool all = std::ranges::all_of(child.at("ParentShards"), [&](const json& parent) {
        return done.contains(parent.get<std::string>());
      });
      if (all) next.push_back(ToShard(child));
    }
  }
  return delivered;
}

}  // namespace weir::simulation
