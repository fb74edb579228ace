#include "weir/sim/dynamodb/dynamo_table_operations.h"

#include <array>
#include <utility>

namespace weir::sim {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxGlobalIndexes = 20;
constexpr std::size_t kMaxLocalIndexes = 5;

KeyNames ReadKeySchema(const RequestFields& fields) {
  KeyNames key;
  for (const json& element : fields.List("KeySchema")) {
    const RequestFields part(element, {"AttributeName", "KeyType"});
    const bool sort = part.Choice("KeyType", {"HASH", "RANGE"}) == "RANGE";
    (sort ? key.sort : key.partition) = part.Text("AttributeName");
  }
  if (key.partition.empty()) {
    RefuseInvalid("Invalid KeySchema: The first KeySchemaElement is not a HASH key type");
  }
  return key;
}

IndexSpec ReadIndex(const json& element, bool local) {
  const RequestFields fields(element,
                             {"IndexName", "KeySchema", "Projection", "ProvisionedThroughput"});
  IndexSpec index{.name = fields.Text("IndexName"), .key = ReadKeySchema(fields)};
  index.local = local;
  const RequestFields projection(fields.Get("Projection"), {"ProjectionType", "NonKeyAttributes"});
  const std::string type = projection.Choice("ProjectionType", {"ALL", "KEYS_ONLY", "INCLUDE"});
  if (type == "KEYS_ONLY") index.projection = IndexSpec::Projection::kKeysOnly;
  if (type == "INCLUDE") {
    index.projection = IndexSpec::Projection::kInclude;
    for (const json& name : projection.List("NonKeyAttributes")) index.included.push_back(name);
  }
  return index;
}

void ReadIndexes(TableSpec& spec, const RequestFields& fields, const char* field, bool local) {
  if (!fields.Has(field)) return;
  const json& list = fields.List(field);
  if (list.size() > (local ? kMaxLocalIndexes : kMaxGlobalIndexes)) {
    RefuseInvalid(std::string("One or more parameter values were invalid: too many in ") + field);
  }
  for (const json& element : list) {
    spec.indexes.push_back(ReadIndex(element, local));
    if (local && spec.indexes.back().key.partition != spec.key.partition) {
      RefuseInvalid(
          "One or more parameter values were invalid: Index KeySchema does not have the "
          "table's hash key: " +
          spec.indexes.back().name);
    }
  }
}

/// Requires that exactly the attributes of the keys are defined.
void ReadKeyTypes(TableSpec& spec, const RequestFields& fields) {
  std::map<std::string, ValueType> defined;
  for (const json& element : fields.List("AttributeDefinitions")) {
    const RequestFields definition(element, {"AttributeName", "AttributeType"});
    const bool text = definition.Choice("AttributeType", {"S", "N"}) == "S";
    defined[definition.Text("AttributeName")] = text ? ValueType::kString : ValueType::kNumber;
  }
  std::vector<KeyNames> keys = {spec.key};
  for (const IndexSpec& index : spec.indexes) keys.push_back(index.key);
  for (const KeyNames& key : keys) {
    for (const std::string& name : {key.partition, key.sort}) {
      if (name.empty()) continue;
      if (!defined.contains(name)) {
        RefuseInvalid(
            "One or more parameter values were invalid: Some index key attributes are "
            "not defined in AttributeDefinitions. Keys: [" +
            name + "]");
      }
      spec.key_types[name] = defined[name];
    }
  }
  if (spec.key_types.size() != defined.size()) {
    RefuseInvalid(
        "One or more parameter values were invalid: Some AttributeDefinitions are not "
        "used. AttributeDefinitions must be those of the keys");
  }
}

TableSpec ReadSpec(const RequestFields& fields) {
  TableSpec spec{.name = fields.Text("TableName"), .key = ReadKeySchema(fields)};
  ReadIndexes(spec, fields, "GlobalSecondaryIndexes", false);
  ReadIndexes(spec, fields, "LocalSecondaryIndexes", true);
  ReadKeyTypes(spec, fields);
  if (const json* stream = fields.Find("StreamSpecification")) {
    const RequestFields specification(*stream, {"StreamEnabled", "StreamViewType"});
    spec.stream = specification.BoolOr("StreamEnabled", false);
    if (spec.stream) specification.Choice("StreamViewType", {"", "NEW_AND_OLD_IMAGES"});
  }
  return spec;
}

json DescriptionFrom(const json& body, const TableSpec& spec, UnixMillis created) {
  json description = body;
  description.erase("Tags");
  const std::string arn = "arn:aws:dynamodb:eu-west-1:000000000000:table/" + spec.name;
  description["TableArn"] = arn;
  description["CreationDateTime"] = static_cast<double>(created.value) / 1000;
  const std::string billing = body.value("BillingMode", "PROVISIONED");
  description.erase("BillingMode");
  description["BillingModeSummary"]["BillingMode"] = billing;
  if (spec.stream) {
    description["LatestStreamLabel"] = "1";
    description["LatestStreamArn"] = arn + "/stream/1";
  }
  return description;
}

json Describe(const DynamoWorld& world, const TableEntry& entry) {
  const char* status = world.clock.Now() < entry.ready ? "CREATING" : "ACTIVE";
  json description = entry.description;
  description["TableStatus"] = status;
  description["ItemCount"] = entry.table.CountItems();
  if (description.contains("GlobalSecondaryIndexes")) {
    for (json& index : description["GlobalSecondaryIndexes"]) index["IndexStatus"] = status;
  }
  return description;
}

TableEntry& FindTableEntry(DynamoWorld& world, const RequestFields& fields) {
  const std::string name = fields.Text("TableName");
  const auto found = world.tables.find(name);
  if (found != world.tables.end()) return found->second;
  throw Refusal{.type = "ResourceNotFoundException",
                .message = "Requested resource not found: Table: " + name + " not found"};
}

json BackupsOf(const DynamoTable& table) {
  json recovery = {{"PointInTimeRecoveryStatus", table.backups ? "ENABLED" : "DISABLED"}};
  if (table.backups) recovery["RecoveryPeriodInDays"] = table.backup_days;
  json description = {{"ContinuousBackupsStatus", "ENABLED"}};
  description["PointInTimeRecoveryDescription"] = std::move(recovery);
  json response = json::object();
  response["ContinuousBackupsDescription"] = std::move(description);
  return response;
}

}  // namespace

json CreateTable(DynamoWorld& world, const json& body) {
  const RequestFields fields(
      body, {"TableName", "KeySchema", "AttributeDefinitions", "GlobalSecondaryIndexes",
             "LocalSecondaryIndexes", "BillingMode", "ProvisionedThroughput", "StreamSpecification",
             "SSESpecification", "Tags", "DeletionProtectionEnabled", "TableClass"});
  TableSpec spec = ReadSpec(fields);
  if (world.tables.contains(spec.name)) {
    throw Refusal{.type = "ResourceInUseException",
                  .message = "Table already exists: " + spec.name};
  }
  json description = DescriptionFrom(body, spec, world.clock.WallNow());
  const std::string name = spec.name;
  std::optional<DynamoStream> stream;
  if (spec.stream) stream.emplace(spec.key);
  const auto made = world.tables.emplace(
      name, TableEntry{.table = DynamoTable(std::move(spec), world.clock),
                       .ready = world.clock.Now() + world.faults.table_creation,
                       .description = std::move(description),
                       .stream = std::move(stream)});
  json response = json::object();
  response["TableDescription"] = Describe(world, made.first->second);
  return response;
}

json DescribeTable(DynamoWorld& world, const json& body) {
  json response = json::object();
  response["Table"] = Describe(world, FindTableEntry(world, RequestFields(body, {"TableName"})));
  return response;
}

json DeleteTable(DynamoWorld& world, const json& body) {
  const RequestFields fields(body, {"TableName"});
  const TableEntry& entry = FindTableEntry(world, fields);
  if (entry.description.value("DeletionProtectionEnabled", false)) {
    RefuseInvalid(
        "Resource cannot be deleted as it is currently protected against deletion. Disable "
        "deletion protection first.");
  }
  json response = json::object();
  response["TableDescription"] = Describe(world, entry);
  response["TableDescription"]["TableStatus"] = "DELETING";
  world.tables.erase(fields.Text("TableName"));
  return response;
}

json UpdateTimeToLive(DynamoWorld& world, const json& body) {
  const RequestFields fields(body, {"TableName", "TimeToLiveSpecification"});
  DynamoTable& table = world.Table(fields.Text("TableName"));
  const json& specification = fields.Get("TimeToLiveSpecification");
  const RequestFields wanted(specification, {"AttributeName", "Enabled"});
  const bool enable = wanted.BoolOr("Enabled", false);
  if (enable != table.ttl_attribute.empty()) {
    RefuseInvalid(std::string("TimeToLive is already ") + (enable ? "enabled" : "disabled"));
  }
  table.ttl_attribute = enable ? wanted.Text("AttributeName") : "";
  json response = json::object();
  response["TimeToLiveSpecification"] = specification;
  return response;
}

json DescribeTimeToLive(DynamoWorld& world, const json& body) {
  const DynamoTable& table = world.Table(RequestFields(body, {"TableName"}).Text("TableName"));
  json description = json::object();
  description["TimeToLiveStatus"] = table.ttl_attribute.empty() ? "DISABLED" : "ENABLED";
  if (!table.ttl_attribute.empty()) description["AttributeName"] = table.ttl_attribute;
  json response = json::object();
  response["TimeToLiveDescription"] = std::move(description);
  return response;
}

json UpdateContinuousBackups(DynamoWorld& world, const json& body) {
  const RequestFields fields(body, {"TableName", "PointInTimeRecoverySpecification"});
  DynamoTable& table = world.Table(fields.Text("TableName"));
  const json& specification = fields.Get("PointInTimeRecoverySpecification");
  const RequestFields wanted(specification, {"PointInTimeRecoveryEnabled", "RecoveryPeriodInDays"});
  const int days = specification.value("RecoveryPeriodInDays", 35);
  if (days < 1 || days > 35) RefuseInvalid("RecoveryPeriodInDays must be from 1 to 35");
  table.backups = wanted.BoolOr("PointInTimeRecoveryEnabled", false);
  table.backup_days = days;
  return BackupsOf(table);
}

json DescribeContinuousBackups(DynamoWorld& world, const json& body) {
  return BackupsOf(world.Table(RequestFields(body, {"TableName"}).Text("TableName")));
}

}  // namespace weir::sim
