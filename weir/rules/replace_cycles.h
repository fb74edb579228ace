// Rules that replace each other.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/rules/rule.h"

namespace weir::rules {

/// A name in the `replaces` of a rule.
struct ReplacedName {
  const Rule* rule;
  std::string_view name;
};

/// Finds cycles of `replaces`: rules of which each replaces the next one, and the last one the
/// first. None of them would apply to a request that has all of them. Not thread-safe.
class ReplaceCycles {
 public:
  /// The rules must outlive this object and must not change.
  explicit ReplaceCycles(std::span<const Rule> rules);

  /// Returns a name that closes a cycle of rules, or nothing if all were returned. Without these
  /// names the rules have no cycles. The search begins at the first rule.
  std::optional<ReplacedName> Next();

  /// Returns the names of the cycle that the name of Next closes, which is the first of them. The
  /// last one is that of its rule. REQUIRES: Next has returned a name.
  std::vector<std::string_view> names() const;

 private:
  /// All rules of one name that replace others. `rule` and `name` are the next to look at.
  struct Group {
    enum class State { kNew, kInPath, kDone };
    std::vector<const Rule*> rules;
    std::size_t rule = 0;
    std::size_t name = 0;  ///< in `replaces` of the rule
    State state = State::kNew;
  };

  /// Returns null if no rule of this name replaces others.
  Group* GroupOf(const Rule& rule, std::string_view name);
  void Enter(Group& group);
  /// Begins a path at the next rule that no path has reached. Returns false if there is none.
  bool Begin();
  static std::optional<ReplacedName> NextOf(Group& group);

  std::span<const Rule> rules_;
  std::size_t begun_ = 0;  ///< the number of rules at which a path has begun, or need not begin
  std::map<std::pair<std::string_view, std::string_view>, Group> groups_;  ///< by domain and name
  std::vector<Group*> path_;  ///< each replaces the one that follows
  const Group* first_ = nullptr;
};

}  // namespace weir::rules
