#include "weir/sim/dynamodb/dynamo_fixture.h"

#include <utility>

#include "weir/sim/dynamodb/dynamo_table.h"

namespace weir::sim {

Item ItemFrom(const std::string& text) { return ReadItem(nlohmann::json::parse(text)).value(); }
namespace {

using nlohmann::json;

json Schema(const std::string& partition, const std::string& sort) {
  json schema = json::array();
  schema.push_back({{"AttributeName", partition}, {"KeyType", "HASH"}});
  schema.push_back({{"AttributeName", sort}, {"KeyType", "RANGE"}});
  return schema;
}

json Index(const std::string& name, const std::string& partition, const std::string& projection) {
  json index = json::object();
  index["IndexName"] = name;
  index["KeySchema"] = Schema(partition, name + "SK");
  index["Projection"]["ProjectionType"] = projection;
  return index;
}

}  // namespace

HttpRequest DynamoRequest(const std::string& operation, const json& body) {
  HttpRequest request;
  request.headers = {{"content-type", "application/x-amz-json-1.0"},
                     {"x-amz-target", "DynamoDB_20120810." + operation}};
  request.body = body.dump();
  return request;
}

DynamoResponse ReadResponse(const HttpResponse& response) {
  DynamoResponse read{.status = response.status, .body = json::parse(response.body)};
  if (response.status == 200) return read;
  const std::string type = read.body.at("__type");
  read.error = type.substr(type.find('#') + 1);
  read.message = read.body.value("message", read.body.value("Message", ""));
  return read;
}

json LimitsTable() {
  json table = {{"TableName", "t"}, {"BillingMode", "PAY_PER_REQUEST"}};
  table["KeySchema"] = Schema("PK", "SK");
  table["GlobalSecondaryIndexes"] = {Index("GSI1", "GSI1PK", "ALL"), Index("GSI2", "GSI2PK", "ALL"),
                                     Index("GSI3", "GSI3PK", "KEYS_ONLY"),
                                     Index("GSI4", "GSI4PK", "KEYS_ONLY")};
  table["LocalSecondaryIndexes"] = json::array({Index("LSI1", "PK", "ALL")});
  for (const char* name : {"PK", "SK", "GSI1PK", "GSI1SK", "GSI2PK", "GSI2SK", "GSI3PK", "GSI3SK",
                           "GSI4PK", "GSI4SK", "LSI1SK"}) {
    table["AttributeDefinitions"].push_back({{"AttributeName", name}, {"AttributeType", "S"}});
  }
  table["StreamSpecification"] = {{"StreamEnabled", true},
                                  {"StreamViewType", "NEW_AND_OLD_IMAGES"}};
  return table;
}

DynamoFixture::DynamoFixture() { Ok("CreateTable", LimitsTable().dump()); }

DynamoResponse DynamoFixture::Call(const std::string& operation, const std::string& body) {
  json parsed = json::parse(body);
  const bool of_one_table = !parsed.contains("RequestItems") && !parsed.contains("TransactItems");
  if (of_one_table && !parsed.contains("TableName")) parsed["TableName"] = "t";
  return ReadResponse(dynamo.Handle(DynamoRequest(operation, parsed)));
}

json DynamoFixture::Ok(const std::string& operation, const std::string& body) {
  const DynamoResponse read = Call(operation, body);
  EXPECT_EQ(read.status, 200) << operation << " " << body << ": " << read.body;
  return read.body;
}

DynamoResponse DynamoFixture::Refused(const std::string& operation, const std::string& body,
                                      const std::string& error) {
  const json before = Everything();
  DynamoResponse read = Call(operation, body);
  EXPECT_EQ(read.status, 400) << operation << " " << body << ": " << read.body;
  EXPECT_EQ(read.error, error) << read.message;
  EXPECT_EQ(Everything(), before) << operation << " " << body;
  return read;
}

void DynamoFixture::Put(const std::string& pk, const std::string& sk,
                        const std::string& attributes) {
  Ok("PutItem", R"({"Item":{"PK":{"S":")" + pk + R"("},"SK":{"S":")" + sk + R"("})" +
                    (attributes.empty() ? "" : "," + attributes) + "}}");
}

json DynamoFixture::Get(const std::string& pk, const std::string& sk) {
  const json read = Ok("GetItem", R"({"ConsistentRead":true,"Key":{"PK":{"S":")" + pk +
                                      R"("},"SK":{"S":")" + sk + R"("}}})");
  return read.value("Item", json());
}

json DynamoFixture::Everything() const {
  json items = json::array();
  const DynamoTable* table = dynamo.Table("t");
  if (table == nullptr) return items;
  for (const auto& [key, stored] : table->items()) {
    if (stored.now) items.push_back(WriteItem(*stored.now));
  }
  return items;
}

}  // namespace weir::sim
