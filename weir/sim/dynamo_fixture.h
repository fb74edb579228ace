// A simulated DynamoDB and requests on it, for this room's tests.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "weir/aws/http.h"
#include "weir/sim/dynamo_value.h"
#include "weir/sim/sim_dynamo.h"
#include "weir/sim/sim_scheduler.h"

namespace weir::sim {

/// An item as DynamoDB's JSON writes it.
Item ItemFrom(const std::string& text);

/// For tables of expressions that are refused.
struct RefusedExpression {
  std::string text;
  std::string why;
};

struct DynamoAnswer {
  int status = 0;
  std::string error;  ///< AWS's code without its namespace; empty: none
  std::string message;
  nlohmann::json body;
};

HttpRequest DynamoRequest(const std::string& operation, const nlohmann::json& body);
DynamoAnswer ReadAnswer(const HttpResponse& response);

/// CreateTable's body for a table "t" as zae-limiter makes it: PK and SK, GSI1 and GSI2 with all
/// attributes, GSI3 and GSI4 with the keys alone, LSI1 with all attributes, a stream.
nlohmann::json LimitsTable();

/// With that table made.
class DynamoFixture : public testing::Test {
 protected:
  DynamoFixture();

  /// The body may leave TableName out: then it is "t".
  DynamoAnswer Call(const std::string& operation, const std::string& body);
  /// As Call, and expects it to succeed.
  nlohmann::json Ok(const std::string& operation, const std::string& body);
  /// Expects the call to be refused so, and the table to stay as it was.
  DynamoAnswer Refused(const std::string& operation, const std::string& body,
                       const std::string& error);
  /// Puts an item; attributes as JSON text without the braces: `"n":{"N":"1"}`.
  void Put(const std::string& pk, const std::string& sk, const std::string& attributes = "");
  /// The item, read consistently; null if there is none.
  nlohmann::json Get(const std::string& pk, const std::string& sk);
  /// Every item of the table, to compare with.
  nlohmann::json Everything() const;

  SimClock clock;
  SimDynamo dynamo{clock, 7};
};

}  // namespace weir::sim
