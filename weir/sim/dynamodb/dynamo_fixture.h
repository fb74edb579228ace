// A simulated DynamoDB, and requests to it, for the tests of this module.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "weir/aws/http/http.h"
#include "weir/sim/dynamodb/expression/dynamo_value.h"
#include "weir/sim/dynamodb/sim_dynamo.h"
#include "weir/sim/sim_scheduler.h"

namespace weir::sim {

/// Parses an item from DynamoDB's JSON.
Item ItemFrom(const std::string& text);

/// A row of a table of refused expressions.
struct RefusedExpression {
  std::string text;
  std::string why;
};

struct DynamoResponse {
  int status = 0;
  std::string error;  ///< AWS's code without its namespace; empty on success
  std::string message;
  nlohmann::json body;
};

HttpRequest DynamoRequest(const std::string& operation, const nlohmann::json& body);
DynamoResponse ReadResponse(const HttpResponse& response);

/// Returns the body of a CreateTable request for a table "t" as zae-limiter creates it: keys PK and
/// SK, GSI1 and GSI2 with all attributes, GSI3 and GSI4 with keys only, LSI1 with all attributes,
/// and a stream.
nlohmann::json LimitsTable();

/// Has the table of LimitsTable().
class DynamoFixture : public testing::Test {
 protected:
  DynamoFixture();

  /// Sends a request. A body without TableName is sent for table "t".
  DynamoResponse Call(const std::string& operation, const std::string& body);
  /// Like Call, but expects success.
  nlohmann::json Ok(const std::string& operation, const std::string& body);
  /// Expects this error, and that the table does not change.
  DynamoResponse Refused(const std::string& operation, const std::string& body,
                         const std::string& error);
  /// Puts an item. `attributes` is JSON text without the braces: `"n":{"N":"1"}`.
  void Put(const std::string& pk, const std::string& sk, const std::string& attributes = "");
  /// Returns the item, read consistently, or null if it does not exist.
  nlohmann::json Get(const std::string& pk, const std::string& sk);
  /// Returns all items of the table, for comparisons.
  nlohmann::json Everything() const;

  SimClock clock;
  SimDynamo dynamo{clock, 7};
};

}  // namespace weir::sim
