// The operations TransactWriteItems and TransactGetItems.
//
//   read and check all actions --> token applied before? --yes--> bill a read of each item
//                                          | no
//                                          v
//               judge each action on the unchanged items --any failed--> bill and cancel all
//                                          | all passed
//                                          v
//                             apply all and store the token
#include "weir/sim/dynamodb/dynamo_transactions.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <set>
#include <utility>
#include <vector>

#include "weir/sim/dynamodb/consumption_report.h"
#include "weir/sim/dynamodb/dynamo_read_operations.h"
#include "weir/sim/dynamodb/dynamo_write.h"
#include "weir/sim/dynamodb/dynamo_write_units.h"

namespace weir::sim {
namespace {

using nlohmann::json;
using WriteKind = ItemWrite::Kind;

constexpr std::size_t kMaxInTransaction = 100;
constexpr std::size_t kLargestTransaction = 4 * 1024 * 1024;
constexpr std::chrono::minutes kTokenLife{10};
/// A transactional write costs twice the units of a plain write.
constexpr double kPrice = 2;

const json& CheckedItems(const RequestFields& fields) {
  const json& items = fields.List("TransactItems");
  if (!items.empty() && items.size() <= kMaxInTransaction) return items;
  RefuseInvalid(
      "1 validation error detected: Value at 'transactItems' failed to satisfy constraint: Member "
      "must have length less than or equal to 100, and greater than or equal to 1");
}

ItemWrite ReadAction(DynamoWorld& world, const json& action) {
  static constexpr std::array<std::pair<const char*, WriteKind>, 4> kKinds = {
      {{"Put", WriteKind::kPut},
       {"Update", WriteKind::kUpdate},
       {"Delete", WriteKind::kDelete},
       {"ConditionCheck", WriteKind::kCheck}}};
  const RequestFields one_of(action, {"Put", "Update", "Delete", "ConditionCheck"});
  if (action.size() != 1) {
    RefuseInvalid("TransactItems can only contain one of Check, Put, Update or Delete");
  }
  const auto* kind = std::ranges::find_if(
      kKinds, [&one_of](const auto& candidate) { return one_of.Has(candidate.first); });
  if (kind == kKinds.end()) RefuseInvalid("TransactItems must not be empty");
  const RequestFields fields(
      one_of.Get(kind->first),
      {"TableName", kind->second == WriteKind::kPut ? "Item" : "Key",
       kind->second == WriteKind::kUpdate ? "UpdateExpression" : "ConditionExpression",
       "ConditionExpression", "ExpressionAttributeNames", "ExpressionAttributeValues",
       "ReturnValuesOnConditionCheckFailure"});
  if (kind->second == WriteKind::kUpdate) fields.Text("UpdateExpression");
  return ReadWrite(kind->second, world, fields);
}

std::vector<ItemWrite> ReadActions(DynamoWorld& world, const json& items) {
  std::vector<ItemWrite> writes;
  std::set<std::pair<DynamoTable*, ItemKey>> seen;
  std::size_t size = 0;
  for (const json& action : items) {
    writes.push_back(ReadAction(world, action));
    size += SizeOf(writes.back().item_or_key);
    if (!seen.emplace(writes.back().table, writes.back().key).second) {
      RefuseInvalid("Transaction request cannot include multiple operations on one item");
    }
  }
  if (size > kLargestTransaction) {
    RefuseInvalid("Transaction request size has exceeded the maximum allowed size");
  }
  return writes;
}

/// Returns whether the transaction of this token has been applied within the token's lifetime.
/// Refuses a token that was used for other items, and by fault a repeated one.
bool IsRepeated(DynamoWorld& world, const std::string& token, const std::string& items) {
  const auto found = world.transactions.find(token);
  if (token.empty() || found == world.transactions.end()) return false;
  if (world.clock.Now() - found->second.at > kTokenLife) {
    world.transactions.erase(found);
    return false;
  }
  if (found->second.items != items) {
    throw Refusal{.type = "IdempotentParameterMismatchException",
                  .message =
                      "The request uses the same client token as a previous, but "
                      "non-identical request. Do not reuse a client token with different "
                      "requests, unless the requests are identical"};
  }
  if (!world.in_progress) return true;
  ++world.counts.in_progress;
  throw Refusal{.type = "TransactionInProgressException",
                .message = "Transaction already in progress with the same client request token."};
}

/// The outcome of one action: the item after it, or the reason for cancelling the transaction.
struct WriteOutcome {
  std::optional<Item> after;
  json reason = {{"Code", "None"}};
};

json Throttling() {
  return {{"Code", "ThrottlingError"}, {"Message", "Throughput exceeds the capacity."}};
}

// Judges one action without applying it.
WriteOutcome Try(DynamoWorld& world, const ItemWrite& write) {
  WriteOutcome outcome;
  if (FindSpentTablePartition(world, write)) {
    outcome.reason = Throttling();
    return outcome;
  }
  if (!ConditionHolds(write)) {
    ++world.counts.failed_conditions;
    outcome.reason = {{"Code", "ConditionalCheckFailed"},
                      {"Message", "The conditional request failed"}};
    const Item* there = write.table->Find(write.key);
    if (write.old_on_failure && there != nullptr) outcome.reason["Item"] = WriteItem(*there);
    return outcome;
  }
  auto after = ImageAfter(write);
  if (after && write.kind != WriteKind::kCheck && FindSpentIndexPartition(world, write, *after)) {
    outcome.reason = Throttling();
  } else if (after) {
    outcome.after = *std::move(after);
  } else {
    outcome.reason = {{"Code", "ValidationError"}, {"Message", after.error().message}};
  }
  return outcome;
}

[[noreturn]] void Cancel(const std::vector<WriteOutcome>& outcomes) {
  Refusal refusal{.type = "TransactionCanceledException", .message = ""};
  std::string codes;
  for (const WriteOutcome& outcome : outcomes) {
    codes += (codes.empty() ? "" : ", ") + outcome.reason["Code"].get<std::string>();
    refusal.more["CancellationReasons"].push_back(outcome.reason);
  }
  refusal.message =
      "Transaction cancelled, please refer cancellation reasons for specific reasons [" + codes +
      "]";
  throw refusal;
}

// Judges all actions. A drawn fault replaces the outcome of a drawn one.
std::vector<WriteOutcome> TryAll(DynamoWorld& world, const std::vector<ItemWrite>& writes) {
  std::vector<WriteOutcome> outcomes;
  outcomes.reserve(writes.size());
  for (const ItemWrite& write : writes) outcomes.push_back(Try(world, write));
  json& contended = outcomes[world.rng.Below(writes.size())].reason;
  if (world.throttled) {
    ++world.counts.throttled;
    contended = Throttling();
  } else if (world.conflict) {
    ++world.counts.conflicts;
    contended = {{"Code", "TransactionConflict"},
                 {"Message", "Transaction is ongoing for the item"}};
  }
  return outcomes;
}

void Apply(DynamoWorld& world, const ItemWrite& write, std::optional<Item> after,
           ConsumptionReport& report) {
  const nanoseconds lag = world.DrawLag();
  if (write.kind == WriteKind::kCheck) return ChargeUnchanged(world, write, report, kPrice);
  ApplyWrite(world, write, {.after = std::move(after), .lag = lag, .price = kPrice}, report);
}

// AWS bills a transaction that it cancels, unless it was throttled.
void BillCancelled(DynamoWorld& world, const std::vector<ItemWrite>& writes,
                   ConsumptionReport& report) {
  for (const ItemWrite& write : writes) ChargeUnchanged(world, write, report, kPrice);
}

}  // namespace

json TransactWriteItems(DynamoWorld& world, const json& body) {
  const RequestFields fields(body,
                             {"TransactItems", "ClientRequestToken", "ReturnConsumedCapacity"});
  const json& items = CheckedItems(fields);
  const std::vector<ItemWrite> writes = ReadActions(world, items);
  const std::string token = fields.TextOr("ClientRequestToken", "");
  if (token.size() > 36) RefuseInvalid("ClientRequestToken must have at most 36 characters");

  ConsumptionReport report(world, fields);
  json response = json::object();
  if (IsRepeated(world, token, items.dump())) {
    for (const ItemWrite& write : writes) report.AddRead(write.table->spec().name, 2);
  } else {
    std::vector<WriteOutcome> outcomes = TryAll(world, writes);
    const bool stopped = std::ranges::any_of(
        outcomes, [](const WriteOutcome& outcome) { return outcome.reason["Code"] != "None"; });
    if (stopped) {
      if (!world.throttled) BillCancelled(world, writes, report);
      Cancel(outcomes);
    }
    for (std::size_t i = 0; i < writes.size(); ++i) {
      Apply(world, writes[i], std::move(outcomes[i].after), report);
    }
    if (!token.empty()) world.transactions[token] = {items.dump(), world.clock.Now()};
  }
  report.WriteArrayTo(response);
  return response;
}

json TransactGetItems(DynamoWorld& world, const json& body) {
  const RequestFields fields(body, {"TransactItems", "ReturnConsumedCapacity"});
  json response = {{"Responses", json::array()}};
  ConsumptionReport report(world, fields);
  for (const json& element : CheckedItems(fields)) {
    json get = RequestFields(element, {"Get"}).Get("Get");
    const std::string table =
        RequestFields(get, {"TableName", "Key", "ProjectionExpression", "ExpressionAttributeNames"})
            .Text("TableName");
    get["ConsistentRead"] = true;
    get["ReturnConsumedCapacity"] = "TOTAL";
    json one = GetItem(world, get);
    // GetItem has counted the units once; a transactional read costs twice.
    const auto units = one["ConsumedCapacity"]["CapacityUnits"].get<double>();
    world.counts.read_units -= units;
    report.AddRead(table, 2 * units);
    one.erase("ConsumedCapacity");
    response["Responses"].push_back(std::move(one));
  }
  report.WriteArrayTo(response);
  return response;
}

}  // namespace weir::sim
