// Which resources have limits, kept in two items of their own.
//
// Format: zae-limiter 0.17.0 (data model 1.3 f and g): a string set of the resources that have
// defaults; and one attribute per resource, named as the resource, which counts the entities with
// limits for it (`_default_` for the others) and is removed when it would be 0.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "weir/dynamo/keys.h"
#include "weir/dynamo/table.h"
#include "weir/store/config_store.h"

namespace weir::dynamo {

/// Collects what one transaction adds to the registries and takes from them.
class RegistryChanges {
 public:
  void Add(const Level& level);
  void Remove(const Level& level);

  /// The registries as they were read; null for one that is not there.
  struct Read {
    const Item* resources = nullptr;
    const Item* counts = nullptr;
  };
  /// Appends at most one write for each registry. They fail where what was read and matters to them
  /// is another.
  void AppendTo(const Keys& keys, const Read& read, std::vector<Write>& writes) const;

 private:
  Expression ChangeResources(const Item* read) const;
  Expression ChangeCounts(const Item* read) const;

  std::set<std::string> added_;
  std::set<std::string> removed_;
  std::map<std::string, std::int64_t> counts_;
};

}  // namespace weir::dynamo
