// A simulated Kinesis and requests on it, for this room's tests.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "weir/aws/http.h"
#include "weir/sim/kinesis_stream.h"
#include "weir/sim/sim_kinesis.h"
#include "weir/sim/sim_scheduler.h"

namespace weir::sim {

struct KinesisAnswer {
  int status = 0;
  std::string error{};  ///< empty: none
  std::string message{};
  nlohmann::json body;  ///< null: none
};

/// The body in JSON: blobs are base64 in it.
HttpRequest KinesisRequest(const std::string& operation, const nlohmann::json& body);

/// An entry of PutRecords; an empty hash: none.
nlohmann::json PutEntry(const std::string& key, const std::string& data,
                        const std::string& hash = "");

/// With a stream "s" of two shards.
class KinesisFixture : public testing::Test {
 protected:
  KinesisFixture() { kinesis.CreateStream("s", 2); }

  /// A body that names neither stream, token nor iterator is about "s".
  KinesisAnswer Call(const std::string& operation, nlohmann::json body);
  /// As Call, and expects it to succeed.
  nlohmann::json Ok(const std::string& operation, const nlohmann::json& body);
  /// As Call, and expects this error and that nothing was stored.
  KinesisAnswer Refused(const std::string& operation, const nlohmann::json& body,
                        const std::string& error);
  nlohmann::json PutAll(const std::vector<nlohmann::json>& entries);
  /// So many records of so many bytes on the first shard; how many of them were stored.
  std::size_t PutMany(std::size_t records, std::size_t bytes);
  std::string IteratorOf(std::uint64_t shard, const std::string& type,
                         const std::string& sequence = "");

  SimClock clock;
  SimKinesis kinesis{clock, 7};
};

}  // namespace weir::sim
