// Document paths: where in an item a value is.
#pragma once

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "weir/base/result.h"
#include "weir/sim/dynamo_value.h"

namespace weir::sim {

/// Names of attributes and map entries, and positions in lists. The first step is a name.
struct Path {
  using Step = std::variant<std::string, std::size_t>;
  std::vector<Step> steps;

  const std::string& attribute() const { return std::get<std::string>(steps.front()); }
  bool top_level() const { return steps.size() == 1; }
  friend auto operator<=>(const Path&, const Path&) = default;
};

/// As AWS's messages show it: "[a, b, [0]]".
std::string ToString(const Path& path);

/// Null if there is nothing.
const Value* Find(const Item& item, const Path& path);

/// Puts a value there; behind the end of a list it is appended. kInvalidArgument, with AWS's words,
/// if what should hold it is not there or of another type.
Status Put(Item& item, const Path& path, Value value);

/// Removes what is there, if something is. kInvalidArgument as for Put.
Status Remove(Item& item, const Path& path);

/// Refuses two paths of which one is in the other, or that take one place for a map and for a list.
Status CheckApart(const Path& one, const Path& two);

}  // namespace weir::sim
