#include "weir/sim/dynamodb/expression/dynamo_apply.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir::sim {
namespace {

using ActionKind = UpdateAction::Kind;
using ValueKind = NewValue::Kind;

tl::unexpected<Error> WrongType() {
  return Fail(Code::kInvalidArgument,
              "An operand in the update expression has an incorrect data type");
}

Result<Value> Compute(const NewValue& wanted, const Item& old);

Result<Value> ComputePath(const Path& path, const Item& old) {
  if (const Value* found = Find(old, path)) return *found;
  return Fail(Code::kInvalidArgument,
              "The provided expression refers to an attribute that does not exist in the item");
}

Result<Value> ComputeOfTwo(const NewValue& wanted, const Item& old) {
  WEIR_ASSIGN_OR_RETURN(Value left, Compute(wanted.parts[0], old));
  WEIR_ASSIGN_OR_RETURN(const Value right, Compute(wanted.parts[1], old));
  if (wanted.kind == ValueKind::kListAppend) {
    auto* list = left.As<Value::List>();
    const auto* more = right.As<Value::List>();
    if (list == nullptr || more == nullptr) return WrongType();
    list->insert(list->end(), more->begin(), more->end());
    return left;
  }
  const auto* a = left.As<Decimal>();
  const auto* b = right.As<Decimal>();
  if (a == nullptr || b == nullptr) return WrongType();
  WEIR_ASSIGN_OR_RETURN(const Decimal result,
                        wanted.kind == ValueKind::kPlus ? a->Plus(*b) : a->Minus(*b));
  return Value(result);
}

Result<Value> Compute(const NewValue& wanted, const Item& old) {
  switch (wanted.kind) {
    case ValueKind::kValue:
      return wanted.value;
    case ValueKind::kPath:
      return ComputePath(wanted.path, old);
    case ValueKind::kIfNotExists:
      if (const Value* found = Find(old, wanted.path)) return *found;
      return Compute(wanted.parts[0], old);
    default:
      return ComputeOfTwo(wanted, old);
  }
}

/// Adds or deletes the elements in `into`. Returns false if the two are not sets of one type.
template <class Set>
bool ChangeSet(Value& into, const Value& elements, ActionKind kind) {
  auto* set = into.As<Set>();
  const auto* change = elements.As<Set>();
  if (set == nullptr || change == nullptr) return false;
  for (const auto& element : *change) {
    if (kind == ActionKind::kAdd) {
      set->insert(element);
    } else {
      set->erase(element);
    }
  }
  return true;
}

bool IsEmptySet(const Value& value) {
  const auto* texts = value.As<Value::StringSet>();
  const auto* numbers = value.As<Value::NumberSet>();
  return (texts != nullptr && texts->empty()) || (numbers != nullptr && numbers->empty());
}

/// Returns the value that ADD or DELETE produces from the current one (null: none), or nothing if
/// the attribute is removed.
Result<std::optional<Value>> Change(const UpdateAction& action, const Value* there) {
  const Value& operand = action.value.value;
  if (there == nullptr) {
    return action.kind == ActionKind::kAdd ? std::optional(operand) : std::nullopt;
  }
  const auto* number = there->As<Decimal>();
  const auto* added = operand.As<Decimal>();
  if (number != nullptr && added != nullptr) {
    WEIR_ASSIGN_OR_RETURN(const Decimal sum, number->Plus(*added));
    return Value(sum);
  }
  Value changed = *there;
  if (!ChangeSet<Value::StringSet>(changed, operand, action.kind) &&
      !ChangeSet<Value::NumberSet>(changed, operand, action.kind)) {
    return WrongType();
  }
  if (IsEmptySet(changed)) return std::nullopt;
  return changed;
}

/// A value to store at a path, or without a value a removal. Effects are applied in an order in
/// which indexes of lists mean the same element as in the old item: stores in ascending order, then
/// removals in descending order.
struct Effect {
  Path path;
  std::optional<Value> value;
};

void Sort(std::vector<Effect>& effects) {
  std::ranges::sort(effects, [](const Effect& a, const Effect& b) {
    if (a.value.has_value() != b.value.has_value()) return a.value.has_value();
    return a.value ? a.path < b.path : b.path < a.path;
  });
}

Result<Effect> EffectOf(const UpdateAction& action, const Item& old) {
  Effect effect{action.path, std::nullopt};
  if (action.kind == ActionKind::kSet) {
    WEIR_ASSIGN_OR_RETURN(effect.value, Compute(action.value, old));
  } else if (action.kind != ActionKind::kRemove) {
    WEIR_ASSIGN_OR_RETURN(effect.value, Change(action, Find(old, action.path)));
  }
  return effect;
}

}  // namespace

Result<Item> Apply(const Update& update, const Item& old) {
  std::vector<Effect> effects;
  for (const UpdateAction& action : update.actions) {
    WEIR_ASSIGN_OR_RETURN(effects.emplace_back(), EffectOf(action, old));
  }
  Sort(effects);
  Item item = old;
  for (Effect& effect : effects) {
    WEIR_RETURN_IF_ERROR(effect.value ? Put(item, effect.path, *std::move(effect.value))
                                      : Remove(item, effect.path));
  }
  return item;
}

}  // namespace weir::sim
