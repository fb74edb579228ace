// Document paths: the location of a value in an item.
#pragma once

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "weir/base/result.h"
#include "weir/sim/dynamodb/expression/dynamo_value.h"

namespace weir::sim {

/// A sequence of names of attributes and map entries and indexes of lists. The first step is a
/// name.
struct Path {
  using Step = std::variant<std::string, std::size_t>;
  std::vector<Step> steps;

  const std::string& attribute() const { return std::get<std::string>(steps.front()); }
  bool top_level() const { return steps.size() == 1; }
  friend auto operator<=>(const Path&, const Path&) = default;
};

/// Formats a path as AWS's messages do: "[a, b, [0]]".
std::string ToString(const Path& path);

/// Returns the value at the path, or null.
const Value* Find(const Item& item, const Path& path);

/// Stores a value at the path. An index behind the end of a list appends. Returns kInvalidArgument,
/// with AWS's message, if the container is missing or has another type.
Status Put(Item& item, const Path& path, Value value);

/// Removes the value at the path, if there is one. Returns kInvalidArgument as Put does.
Status Remove(Item& item, const Path& path);

/// Refuses two paths if one contains the other, or if they use one value both as a map and as a
/// list.
Status CheckApart(const Path& one, const Path& two);

}  // namespace weir::sim
