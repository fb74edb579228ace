#include "weir/sim/dynamodb/expression/dynamo_path.h"

#include <algorithm>
#include <iterator>

namespace weir::sim {
namespace {

/// Returns the value that one step leads to from an item, or from a value; null if there is none.
const Value* Follow(const Item& map, const std::string& name) {
  const auto found = map.find(name);
  return found == map.end() ? nullptr : &found->second;
}

const Value* Follow(const Value& value, const Path::Step& step) {
  if (const auto* name = std::get_if<std::string>(&step)) {
    const auto* map = value.As<Item>();
    return map == nullptr ? nullptr : Follow(*map, *name);
  }
  const auto* list = value.As<Value::List>();
  const std::size_t index = std::get<std::size_t>(step);
  return list == nullptr || index >= list->size() ? nullptr : &(*list)[index];
}

const Value* Find(const Item& item, const Path& path, std::size_t steps) {
  const Value* at = Follow(item, path.attribute());
  for (std::size_t i = 1; i < steps && at != nullptr; ++i) at = Follow(*at, path.steps[i]);
  return at;
}

tl::unexpected<Error> InvalidForUpdate() {
  return Fail(Code::kInvalidArgument,
              "The document path provided in the update expression is invalid for update");
}

/// Returns the container of the last step of a path with more than one step. Returns null if the
/// container is missing or has the wrong type.
Value* Holder(Item& item, const Path& path) {
  auto* holder = const_cast<Value*>(Find(item, path, path.steps.size() - 1));
  if (holder == nullptr) return nullptr;
  const bool by_name = std::holds_alternative<std::string>(path.steps.back());
  const bool fits = by_name ? holder->As<Item>() != nullptr : holder->As<Value::List>() != nullptr;
  return fits ? holder : nullptr;
}

}  // namespace

std::string ToString(const Path& path) {
  std::string text = "[";
  for (const Path::Step& step : path.steps) {
    if (text.size() > 1) text += ", ";
    const auto* name = std::get_if<std::string>(&step);
    text += name != nullptr ? *name : "[" + std::to_string(std::get<std::size_t>(step)) + "]";
  }
  return text + "]";
}

const Value* Find(const Item& item, const Path& path) {
  return Find(item, path, path.steps.size());
}

Status Put(Item& item, const Path& path, Value value) {
  if (path.top_level()) {
    item.insert_or_assign(path.attribute(), std::move(value));
    return {};
  }
  Value* holder = Holder(item, path);
  if (holder == nullptr) return InvalidForUpdate();
  if (auto* map = holder->As<Item>()) {
    map->insert_or_assign(std::get<std::string>(path.steps.back()), std::move(value));
    return {};
  }
  auto& list = *holder->As<Value::List>();
  const std::size_t index = std::get<std::size_t>(path.steps.back());
  if (index < list.size()) {
    list[index] = std::move(value);
  } else {
    list.push_back(std::move(value));
  }
  return {};
}

Status Remove(Item& item, const Path& path) {
  if (path.top_level()) {
    item.erase(path.attribute());
    return {};
  }
  Value* holder = Holder(item, path);
  if (holder == nullptr) return InvalidForUpdate();
  if (auto* map = holder->As<Item>()) {
    map->erase(std::get<std::string>(path.steps.back()));
    return {};
  }
  auto& list = *holder->As<Value::List>();
  const std::size_t index = std::get<std::size_t>(path.steps.back());
  if (index < list.size()) list.erase(std::next(list.begin(), static_cast<std::ptrdiff_t>(index)));
  return {};
}

Status CheckApart(const Path& one, const Path& two) {
  const auto [left, right] =
      std::mismatch(one.steps.begin(), one.steps.end(), two.steps.begin(), two.steps.end());
  const bool within = left == one.steps.end() || right == two.steps.end();
  if (!within && left->index() == right->index()) return {};
  return Fail(Code::kInvalidArgument,
              std::string("Two document paths ") + (within ? "overlap" : "conflict") +
                  " with each other; must remove or rewrite one of these paths; path one: " +
                  ToString(one) + ", path two: " + ToString(two));
}

}  // namespace weir::sim
