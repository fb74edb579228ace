#include "weir/rules/replace_cycles.h"

#include <algorithm>

namespace weir::rules {

ReplaceCycles::ReplaceCycles(std::span<const Rule> rules) : rules_(rules) {
  for (const Rule& rule : rules) {
    if (!rule.replaces.empty()) groups_[{rule.domain, rule.name}].rules.push_back(&rule);
  }
}

// A search in depth without recursion: a path may have as many rules as a file.
std::optional<ReplacedName> ReplaceCycles::Next() {
  while (!path_.empty() || Begin()) {
    const std::optional<ReplacedName> replaced = NextOf(*path_.back());
    if (!replaced) {
      path_.back()->state = Group::State::kDone;
      path_.pop_back();
      continue;
    }
    Group* const group = GroupOf(*replaced->rule, replaced->name);
    if (group == nullptr || group->state == Group::State::kDone) continue;
    if (group->state == Group::State::kInPath) {
      first_ = group;
      return replaced;
    }
    Enter(*group);
  }
  return std::nullopt;
}

std::vector<std::string_view> ReplaceCycles::names() const {
  std::vector<std::string_view> names;
  for (auto group = std::ranges::find(path_, first_); group != path_.end(); ++group) {
    names.push_back((*group)->rules.front()->name);
  }
  return names;
}

ReplaceCycles::Group* ReplaceCycles::GroupOf(const Rule& rule, std::string_view name) {
  const auto found = groups_.find({rule.domain, name});
  return found == groups_.end() ? nullptr : &found->second;
}

void ReplaceCycles::Enter(Group& group) {
  group.state = Group::State::kInPath;
  path_.push_back(&group);
}

bool ReplaceCycles::Begin() {
  for (; begun_ < rules_.size(); ++begun_) {
    const Rule& rule = rules_[begun_];
    Group* const group = GroupOf(rule, rule.name);
    if (group == nullptr || group->state != Group::State::kNew) continue;
    Enter(*group);
    return true;
  }
  return false;
}

std::optional<ReplacedName> ReplaceCycles::NextOf(Group& group) {
  for (; group.rule < group.rules.size(); ++group.rule) {
    const Rule& rule = *group.rules[group.rule];
    if (group.name < rule.replaces.size()) {
      return ReplacedName{.rule = &rule, .name = rule.replaces[group.name++]};
    }
    group.name = 0;
  }
  return std::nullopt;
}

}  // namespace weir::rules
