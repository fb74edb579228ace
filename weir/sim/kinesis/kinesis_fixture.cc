#include "weir/sim/kinesis/kinesis_fixture.h"

#include <absl/strings/escaping.h>

#include <algorithm>
#include <utility>

namespace weir::sim {

using nlohmann::json;

HttpRequest KinesisRequest(const std::string& operation, const json& body) {
  HttpRequest request;
  request.headers = {{"content-type", "application/x-amz-json-1.1"},
                     {"x-amz-target", "Kinesis_20131202." + operation}};
  request.body = body.dump();
  return request;
}

json PutEntry(const std::string& key, const std::string& data, const std::string& hash) {
  json entry = {{"PartitionKey", key}, {"Data", absl::Base64Escape(data)}};
  if (!hash.empty()) entry["ExplicitHashKey"] = hash;
  return entry;
}

KinesisResponse KinesisFixture::Call(const std::string& operation, json body) {
  const bool says_which = body.contains("StreamName") || body.contains("StreamARN") ||
                          body.contains("NextToken") || body.contains("ShardIterator");
  if (!says_which) body["StreamName"] = "s";
  const HttpResponse response = kinesis.Handle(KinesisRequest(operation, body));
  KinesisResponse read{.status = response.status, .body = nullptr};
  if (!response.body.empty()) read.body = json::parse(response.body);
  if (response.status == 200) return read;
  read.error = read.body.at("__type");
  read.message = read.body.at("message");
  return read;
}

json KinesisFixture::Ok(const std::string& operation, const json& body) {
  KinesisResponse read = Call(operation, body);
  EXPECT_EQ(read.status, 200) << operation << ": " << read.body;
  return std::move(read.body);
}

KinesisResponse KinesisFixture::Refused(const std::string& operation, const json& body,
                                        const std::string& error) {
  const std::uint64_t before = kinesis.counts().stored;
  KinesisResponse read = Call(operation, body);
  EXPECT_NE(read.status, 200) << operation;
  EXPECT_EQ(read.error, error) << read.message;
  EXPECT_EQ(kinesis.counts().stored, before);
  return read;
}

json KinesisFixture::PutAll(const std::vector<json>& entries) {
  return Ok("PutRecords", {{"Records", entries}});
}

std::size_t KinesisFixture::PutMany(std::size_t records, std::size_t bytes) {
  std::size_t stored = 0;
  while (records > 0) {
    const std::size_t some = std::min<std::size_t>(records, 500);
    const json read =
        PutAll(std::vector<json>(some, PutEntry("k", std::string(bytes - 1, 'x'), "0")));
    stored += some - read["FailedRecordCount"].get<std::size_t>();
    records -= some;
  }
  return stored;
}

std::string KinesisFixture::IteratorOf(std::uint64_t shard, const std::string& type,
                                       const std::string& sequence) {
  json body = {{"ShardId", ShardName(shard)}, {"ShardIteratorType", type}};
  if (!sequence.empty()) body["StartingSequenceNumber"] = sequence;
  return Ok("GetShardIterator", body)["ShardIterator"];
}

}  // namespace weir::sim
