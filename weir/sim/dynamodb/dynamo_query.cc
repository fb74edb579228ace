// The operation Query: a plan is read from the request, the key condition selects candidates in the
// order of keys, and the filter and the limits cut one page out of them.
#include "weir/sim/dynamodb/dynamo_query.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "weir/sim/dynamodb/consumption_report.h"
#include "weir/sim/dynamodb/dynamo_page.h"
#include "weir/sim/dynamodb/expression/dynamo_condition.h"
#include "weir/sim/dynamodb/expression/dynamo_condition_eval.h"

namespace weir::sim {
namespace {

using nlohmann::json;

/// A parsed Query.
struct QueryPlan {
  DynamoTable* table = nullptr;
  DynamoIndex* index = nullptr;  ///< null: the table itself
  KeyNames key;                  ///< the key of the queried table or index
  bool consistent = false;
  bool forward = true;
  KeyPart partition;
  Condition range;  ///< the whole key condition
  PageCut cut;
  std::optional<Position> after;
};

/// Returns the comparisons that a key condition joins by AND.
std::vector<const Condition*> Terms(const Condition& condition) {
  if (condition.kind != Condition::Kind::kAnd) return {&condition};
  std::vector<const Condition*> terms;
  for (const Condition& part : condition.parts) {
    std::ranges::copy(Terms(part), std::back_inserter(terms));
  }
  return terms;
}

bool IsKeyComparison(Condition::Kind kind) {
  using enum Condition::Kind;
  return kind == kEqual || kind == kLess || kind == kLessOrEqual || kind == kGreater ||
         kind == kGreaterOrEqual || kind == kBetween || kind == kBeginsWith;
}

/// Returns the attribute that a term of a key condition tests. Refuses a term that a key condition
/// cannot have.
const std::string& TestedAttribute(const QueryPlan& plan, const Condition& term) {
  if (!IsKeyComparison(term.kind)) {
    RefuseInvalid("Invalid operator used in KeyConditionExpression");
  }
  const auto* path = std::get_if<Path>(&term.operands[0].of);
  if (path == nullptr || !path->top_level() || term.operands[0].size) {
    RefuseInvalid(
        "Invalid condition in KeyConditionExpression: it must begin with a key attribute");
  }
  const std::string& name = path->attribute();
  if (name != plan.key.partition && name != plan.key.sort) {
    RefuseInvalid("Query condition missed key schema element: " + plan.key.partition);
  }
  for (std::size_t i = 1; i < term.operands.size(); ++i) {
    const auto* value = std::get_if<Value>(&term.operands[i].of);
    if (value == nullptr || value->type() != plan.table->spec().key_types.at(name)) {
      RefuseInvalid(
          "One or more parameter values were invalid: Condition parameter type does not match "
          "schema type");
    }
  }
  return name;
}

// A key condition is an equality on the partition key and at most one condition on the sort key.
void SetKeyCondition(QueryPlan& plan, Condition condition) {
  const std::vector<const Condition*> terms = Terms(condition);
  std::optional<KeyPart> partition;
  std::size_t ranges = 0;
  for (const Condition* term : terms) {
    if (TestedAttribute(plan, *term) != plan.key.partition) {
      ++ranges;
    } else if (term->kind != Condition::Kind::kEqual || partition) {
      RefuseInvalid("Query key condition not supported");
    } else {
      partition = ToKeyPart(std::get<Value>(term->operands[1].of));
    }
  }
  if (!partition) {
    RefuseInvalid("Query condition missed key schema element: " + plan.key.partition);
  }
  if (ranges > 1) {
    RefuseInvalid("KeyConditionExpressions must only contain one condition per key");
  }
  plan.partition = *partition;
  plan.range = std::move(condition);
}

void SetFilter(QueryPlan& plan, Condition filter) {
  for (const Path& path : PathsIn(filter)) {
    if (path.attribute() != plan.key.partition && path.attribute() != plan.key.sort) continue;
    RefuseInvalid(
        "Filter Expression can only contain non-primary key attributes: Primary key attribute: " +
        path.attribute());
  }
  plan.cut.filter = std::move(filter);
}

void ReadExpressions(QueryPlan& plan, const RequestFields& fields) {
  Placeholders placeholders = fields.ReadPlaceholders();
  SetKeyCondition(
      plan, OrRefuse(ParseCondition("KeyConditionExpression", fields.Text("KeyConditionExpression"),
                                    placeholders)));
  if (fields.Has("FilterExpression")) {
    SetFilter(plan, OrRefuse(ParseCondition("FilterExpression", fields.Text("FilterExpression"),
                                            placeholders)));
  }
  if (fields.Has("ProjectionExpression")) {
    plan.cut.projection =
        OrRefuse(ParseProjection(fields.Text("ProjectionExpression"), placeholders));
  }
  OrRefuse(placeholders.CheckAllUsed());
}

// Reads the table or index and its consistency.
void ReadTarget(QueryPlan& plan, DynamoWorld& world, const RequestFields& fields) {
  plan.table = &world.Table(fields.Text("TableName"));
  plan.key = plan.table->spec().key;
  plan.consistent = fields.BoolOr("ConsistentRead", false);
  if (!fields.Has("IndexName")) return;
  const std::string name = fields.Text("IndexName");
  plan.index = plan.table->FindIndex(name);
  if (plan.index == nullptr) RefuseInvalid("The table does not have the specified index: " + name);
  plan.key = plan.index->spec().key;
  if (plan.consistent && !plan.index->spec().local) {
    RefuseInvalid("Consistent reads are not supported on global secondary indexes");
  }
}

void ReadPaging(QueryPlan& plan, const RequestFields& fields) {
  plan.cut.limit = ReadLimit(fields);
  plan.forward = fields.BoolOr("ScanIndexForward", true);
  if (!fields.Has("ExclusiveStartKey")) return;
  const Item start = fields.ItemOf("ExclusiveStartKey");
  const auto item = KeyIn(start, plan.table->spec().key);
  const auto key = KeyIn(start, plan.key);
  if (!item || !key || key->partition != plan.partition) {
    RefuseInvalid("The provided starting key is invalid");
  }
  plan.after = Position{*key, *item};
}

QueryPlan ReadPlan(DynamoWorld& world, const RequestFields& fields) {
  QueryPlan plan;
  ReadTarget(plan, world, fields);
  ReadExpressions(plan, fields);
  ReadPaging(plan, fields);
  const std::string select = fields.Choice(
      "Select", {"", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES", "COUNT", "SPECIFIC_ATTRIBUTES"});
  plan.cut.count_only = select == "COUNT";
  if (select == "ALL_ATTRIBUTES" && plan.index != nullptr &&
      plan.index->spec().projection != IndexSpec::Projection::kAll) {
    RefuseInvalid(
        "One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported "
        "for global secondary index " +
        plan.index->spec().name + " because its projection type is not ALL");
  }
  return plan;
}

/// Returns the items that the key condition selects, in ascending order of keys.
std::vector<Candidate> Candidates(DynamoWorld& world, const QueryPlan& plan) {
  std::vector<Candidate> found;
  const auto consider = [&](const Position& position, const Item* item) {
    if (item != nullptr && Holds(plan.range, *item)) found.emplace_back(position, item);
  };
  if (plan.index != nullptr) {
    const Entries& entries = plan.index->EntriesAt(world.clock.Now());
    if (plan.index->IsLate(plan.partition)) ++world.counts.late_indexes;
    auto at = entries.lower_bound(Position{{plan.partition, {}}, {}});
    for (; at != entries.end() && at->first.key.partition == plan.partition; ++at) {
      consider(at->first, &at->second);
    }
    return found;
  }
  const auto& items = plan.table->items();
  auto at = items.lower_bound(ItemKey{plan.partition, {}});
  for (; at != items.end() && at->first.partition == plan.partition; ++at) {
    consider({at->first, at->first}, world.View(at->second, plan.consistent));
  }
  return found;
}

// Returns whether the position follows the start key in the direction of the query.
bool IsBehind(const QueryPlan& plan, const Position& position) {
  if (!plan.after) return true;
  return plan.forward ? *plan.after < position : position < *plan.after;
}

}  // namespace

json Query(DynamoWorld& world, const json& body) {
  const RequestFields fields(
      body, {"TableName", "IndexName", "KeyConditionExpression", "FilterExpression",
             "ProjectionExpression", "ExpressionAttributeNames", "ExpressionAttributeValues",
             "Limit", "ExclusiveStartKey", "ScanIndexForward", "ConsistentRead", "Select",
             "ReturnConsumedCapacity"});
  const QueryPlan plan = ReadPlan(world, fields);
  std::vector<Candidate> candidates = Candidates(world, plan);
  if (!plan.forward) std::ranges::reverse(candidates);
  std::erase_if(candidates, [&](const Candidate& at) { return !IsBehind(plan, at.first); });
  const ReadPage page = CutPage(plan.cut, candidates);
  json response = ToResponse(plan.cut, page, {plan.table->spec().key, plan.key});
  ConsumptionReport report(world, fields);
  report.AddRead(plan.table->spec().name, plan.index == nullptr ? "" : plan.index->spec().name,
                 ReadUnits(page.bytes, plan.consistent));
  report.WriteTo(response);
  return response;
}

}  // namespace weir::sim
