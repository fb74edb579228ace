// A fake stream for readers: shards with parents, records, and a service that fails as a test asks.
// Tests only.
#pragma once

#include <absl/strings/escaping.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/rng.h"
#include "weir/kinesis/reader/stream_reader.h"

namespace weir::kinesis {

struct FakeRecord {
  std::string sequence_number;
  std::string partition_key;
  std::string data;
  std::int64_t arrived = 0;  ///< UnixMillis
};

struct FakeShard {
  HashRange range;
  std::vector<std::uint64_t> parents;
  std::vector<FakeRecord> records;
  bool closed = false;
  std::vector<Instant> reads;  ///< the times at which GetRecords was called
};

class FakeStream {
 public:
  using Json = nlohmann::json;

  std::map<std::uint64_t, FakeShard> shards;
  bool tells_children = true;
  std::size_t shards_of_page = 1000;
  bool pages_end = true;  ///< false: each page of a listing has a token
  double faults = 0;      ///< probability that a response is a failure or unreadable
  bool expires = true;    ///< expired iterators are among the faults
  int listings = 0;       ///< that were read to their end
  /// Shards that are listed, and do not exist for other requests.
  std::set<std::uint64_t> missing{};
  /// The next `incomplete_listings` listings leave these shards out.
  std::set<std::uint64_t> left_out{};
  int incomplete_listings = 0;
  bool is_deleted = false;
  bool denies = false;      ///< every request fails
  bool is_expired = false;  ///< every iterator is expired
  /// The number of next pages of records that have no next iterator, as if their shard were closed.
  int early_ends = 0;

  void Put(std::uint64_t shard, const std::string& key, const std::string& data,
           std::int64_t arrived = 0) {
    shards[shard].records.push_back({std::to_string(next_sequence_++), key, data, arrived});
  }
  /// Adds a shard with this range (by default all hash keys), and closes its parents.
  void AddChild(std::uint64_t child, std::vector<std::uint64_t> parents, HashRange range = {}) {
    for (const std::uint64_t parent : parents) shards[parent].closed = true;
    shards[child].range = range;
    shards[child].parents = std::move(parents);
  }

  StreamReader::Response Respond(const ReaderStep::Request& ask, Instant now, Rng& rng) {
    const Json body = Json::parse(ask.body);
    if (ask.operation == "GetRecords") shards.at(ReadOf(body).first).reads.push_back(now);
    if (rng.Chance(faults)) return Fault(rng, ask.operation);
    if (denies) return tl::unexpected(Failure(FailureClass::kAuth, "InvalidSignatureException"));
    if (is_expired && ask.operation == "GetRecords") {
      return tl::unexpected(Failure(FailureClass::kPermanent, "ExpiredIteratorException"));
    }
    if (is_deleted || (ask.operation != "ListShards" && missing.contains(ShardOf(ask, body)))) {
      return tl::unexpected(Failure(FailureClass::kPermanent, "ResourceNotFoundException"));
    }
    if (ask.operation == "ListShards") {
      const bool names_it = body.contains("StreamName") || body.contains("StreamARN");
      if (body.contains("NextToken") == names_it) {
        return tl::unexpected(Failure(FailureClass::kPermanent, "InvalidArgumentException"));
      }
      return List(body).dump();
    }
    if (ask.operation == "GetShardIterator") {
      const FakeShard& shard = shards.at(NumberOf(body.at("ShardId")));
      return Json{{"ShardIterator",
                   std::string(body.at("ShardId")) + "/" + std::to_string(Begin(shard, body))}}
          .dump();
    }
    return Records(body);
  }

 private:
  static AwsFailure Failure(FailureClass kind, const std::string& code) {
    AwsFailure failure;
    failure.kind = kind;
    failure.code = code;
    failure.message = code.empty() ? "no answer" : code;
    return failure;
  }
  StreamReader::Response Fault(Rng& rng, const std::string& operation) const {
    switch (rng.Below(operation == "GetRecords" && expires ? 4 : 3)) {
      case 0:
        return tl::unexpected(
            Failure(FailureClass::kThrottle, "ProvisionedThroughputExceededException"));
      case 1:
        return tl::unexpected(Failure(FailureClass::kAmbiguous, ""));
      case 2:
        return std::string("{\"Records\":[{\"Data\":");
      default:
        return tl::unexpected(Failure(FailureClass::kPermanent, "ExpiredIteratorException"));
    }
  }

  static std::uint64_t ShardOf(const ReaderStep::Request& ask, const Json& body) {
    return ask.operation == "GetRecords" ? ReadOf(body).first : NumberOf(body.at("ShardId"));
  }
  static std::uint64_t NumberOf(const std::string& name) { return ParseShardId(name)->number; }
  static std::string NameOf(std::uint64_t number) { return FormatShardId({number}); }
  static Json Range(const FakeShard& shard) {
    return {{"StartingHashKey", FormatHashKey(shard.range.first)},
            {"EndingHashKey", FormatHashKey(shard.range.last)}};
  }

  Json List(const Json& body) {
    const std::string token = body.value("NextToken", "0");
    Json list = Json::array();
    auto at = shards.lower_bound(std::stoul(token));
    for (; at != shards.end() && list.size() < shards_of_page; ++at) {
      const auto& [number, shard] = *at;
      if (incomplete_listings > 0 && left_out.contains(number)) continue;
      Json json{{"ShardId", NameOf(number)}, {"HashKeyRange", Range(shard)}};
      json["SequenceNumberRange"]["StartingSequenceNumber"] = "1";
      if (shard.closed) json["SequenceNumberRange"]["EndingSequenceNumber"] = "9";
      if (!shard.parents.empty()) json["ParentShardId"] = NameOf(shard.parents[0]);
      if (shard.parents.size() > 1) json["AdjacentParentShardId"] = NameOf(shard.parents[1]);
      list.push_back(json);
    }
    if (at == shards.end()) {
      ++listings;
      incomplete_listings = std::max(0, incomplete_listings - 1);
    }
    Json response{{"Shards", list}};
    if (at != shards.end()) response["NextToken"] = std::to_string(at->first);
    if (at == shards.end() && !pages_end) response["NextToken"] = "999999";
    return response;
  }

  template <class Is>
  static std::size_t PlaceOf(const FakeShard& shard, Is is) {
    const auto found = std::ranges::find_if(shard.records, is);
    return static_cast<std::size_t>(found - shard.records.begin());
  }

  static std::size_t Begin(const FakeShard& shard, const Json& body) {
    const std::string type = body.at("ShardIteratorType");
    if (type == "TRIM_HORIZON") return 0;
    if (type == "LATEST") return shard.records.size();
    if (type == "AT_TIMESTAMP") {
      const double seconds = body.at("Timestamp");
      return PlaceOf(shard, [seconds](const FakeRecord& record) {
        return static_cast<double>(record.arrived) / 1000 >= seconds;
      });
    }
    const std::string number = body.at("StartingSequenceNumber");
    const std::size_t place =
        PlaceOf(shard, [&](const FakeRecord& record) { return record.sequence_number == number; });
    return type == "AT_SEQUENCE_NUMBER" ? place : place + 1;
  }

  /// Returns the shard and the index of an iterator.
  static std::pair<std::uint64_t, std::size_t> ReadOf(const Json& body) {
    const std::string iterator = body.at("ShardIterator");
    const std::size_t slash = iterator.find('/');
    return {NumberOf(iterator.substr(0, slash)), std::stoul(iterator.substr(slash + 1))};
  }

  std::string Records(const Json& body) {
    auto [number, at] = ReadOf(body);
    const FakeShard& shard = shards.at(number);
    Json list = Json::array();
    for (; at < shard.records.size() && list.size() < body.at("Limit"); ++at) {
      const FakeRecord& record = shard.records[at];
      list.push_back({{"SequenceNumber", record.sequence_number},
                      {"PartitionKey", record.partition_key},
                      {"Data", absl::Base64Escape(record.data)}});
    }
    const bool at_end = at == shard.records.size();
    Json response{{"Records", list}, {"MillisBehindLatest", at_end ? 0 : 1000}};
    if (early_ends > 0) {
      --early_ends;
    } else if (!at_end || !shard.closed) {
      response["NextShardIterator"] = NameOf(number) + "/" + std::to_string(at);
    } else if (tells_children) {
      response["ChildShards"] = Children(number);
    }
    return response.dump();
  }

  Json Children(std::uint64_t parent) const {
    Json list = Json::array();
    for (const auto& [number, shard] : shards) {
      Json parents = Json::array();
      for (const std::uint64_t name : shard.parents) parents.push_back(NameOf(name));
      if (std::ranges::count(shard.parents, parent) == 0) continue;
      list.push_back(
          {{"ShardId", NameOf(number)}, {"ParentShards", parents}, {"HashKeyRange", Range(shard)}});
    }
    return list;
  }

  std::uint64_t next_sequence_ = 100;
};

}  // namespace weir::kinesis
