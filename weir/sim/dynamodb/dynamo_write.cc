#include "weir/sim/dynamodb/dynamo_write.h"
#include "weir/sim/dynamodb/expression/dynamo_apply.h"
#include "weir/sim/dynamodb/expression/dynamo_condition_eval.h"

namespace weir::sim {
namespace {

using WriteKind = ItemWrite::Kind;

void RefuseKeyUpdates(const ItemWrite& write) {
  const KeyNames& key = write.table->spec().key;
  for (const UpdateAction& action : write.update.actions) {
    const std::string& name = action.path.attribute();
    if (name != key.partition && name != key.sort) continue;
    RefuseInvalid("One or more parameter values were invalid: Cannot update attribute " + name +
                  ". This attribute is part of the key");
  }
}

void ReadExpressions(ItemWrite& write, const RequestFields& fields) {
  Placeholders placeholders = fields.ReadPlaceholders();
  if (write.kind == WriteKind::kUpdate && fields.Has("UpdateExpression")) {
    write.update = OrRefuse(ParseUpdate(fields.Text("UpdateExpression"), placeholders));
  }
  if (write.kind == WriteKind::kCheck || fields.Has("ConditionExpression")) {
    write.condition = OrRefuse(
        ParseCondition("ConditionExpression", fields.Text("ConditionExpression"), placeholders));
  }
  OrRefuse(placeholders.CheckAllUsed());
}

}  // namespace

ItemWrite ReadWrite(WriteKind kind, DynamoWorld& world, const RequestFields& fields) {
  ItemWrite write;
  write.kind = kind;
  write.item_or_key = fields.ItemOf(kind == WriteKind::kPut ? "Item" : "Key");
  ReadExpressions(write, fields);
  write.old_on_failure =
      fields.Choice("ReturnValuesOnConditionCheckFailure", {"NONE", "ALL_OLD"}) == "ALL_OLD";
  write.table = &world.Table(fields.Text("TableName"));
  write.key = OrRefuse(kind == WriteKind::kPut ? write.table->CheckItem(write.item_or_key)
                                               : write.table->ReadKey(write.item_or_key));
  RefuseKeyUpdates(write);
  return write;
}

bool ConditionHolds(const ItemWrite& write) {
  if (!write.condition) return true;
  const Item* there = write.table->Find(write.key);
  return Holds(*write.condition, there == nullptr ? Item() : *there);
}

Result<std::optional<Item>> ImageAfter(const ItemWrite& write) {
  const Item* there = write.table->Find(write.key);
  switch (write.kind) {
    case WriteKind::kPut:
      return write.item_or_key;
    case WriteKind::kDelete:
      return std::nullopt;
    case WriteKind::kCheck:
      return there == nullptr ? std::nullopt : std::optional(*there);
    case WriteKind::kUpdate:
      break;
  }
  WEIR_ASSIGN_OR_RETURN(Item item,
                        Apply(write.update, there == nullptr ? write.item_or_key : *there));
  WEIR_RETURN_IF_ERROR(write.table->CheckItem(item));
  return item;
}

}  // namespace weir::sim
