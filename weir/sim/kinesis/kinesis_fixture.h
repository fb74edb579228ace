// A simulated Kinesis, and requests to it, for the tests of this module.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "weir/aws/http/http.h"
#include "weir/sim/kinesis/kinesis_stream.h"
#include "weir/sim/kinesis/sim_kinesis.h"
#include "weir/sim/sim_scheduler.h"

namespace weir::sim {

struct KinesisResponse {
  int status = 0;
  std::string error{};  ///< empty on success
  std::string message{};
  nlohmann::json body;  ///< null if the response has no body
};

/// Returns a request with a JSON body, in which blobs are Base64.
HttpRequest KinesisRequest(const std::string& operation, const nlohmann::json& body);

/// Returns an entry of PutRecords, without an explicit hash key if `hash` is empty.
nlohmann::json PutEntry(const std::string& key, const std::string& data,
                        const std::string& hash = "");

/// Has a stream "s" of two shards.
class KinesisFixture : public testing::Test {
 protected:
  KinesisFixture() { kinesis.CreateStream("s", 2); }

  /// Sends a request. Adds the stream name "s" to a body without StreamName, StreamARN, NextToken
  /// and ShardIterator.
  KinesisResponse Call(const std::string& operation, nlohmann::json body);
  /// Like Call, but expects success. Returns the body of the response.
  nlohmann::json Ok(const std::string& operation, const nlohmann::json& body);
  /// Like Call, but expects `error`, and that no record was stored.
  KinesisResponse Refused(const std::string& operation, const nlohmann::json& body,
                          const std::string& error);
  /// Puts the entries with one PutRecords request, expects success, and returns the body of the
  /// response; entries in the body may have failed.
  nlohmann::json PutAll(const std::vector<nlohmann::json>& entries);
  /// Puts `records` records of `bytes` bytes each, including the key, on the first shard, in
  /// requests of up to 500. Returns the number of stored records.
  std::size_t PutMany(std::size_t records, std::size_t bytes);
  std::string IteratorOf(std::uint64_t shard, const std::string& type,
                         const std::string& sequence = "");

  SimClock clock;
  SimKinesis kinesis{clock, 7};
};

}  // namespace weir::sim
