// The registries: two items that list the resources with limits.
//
// Format: zae-limiter 0.17.0 (schema.py, repository.py). One item has a string set of the resources
// that have defaults. The other has one attribute per resource, named after the resource, which
// counts the entities with limits for this resource (`_default_`: entities with default limits) and
// is removed when the count would be 0.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "weir/dynamodb/table.h"
#include "weir/store/config/config_store.h"
#include "weir/zae_table/keys.h"

namespace weir::dynamo {

/// Collects the changes of the registries that belong to one transaction.
class RegistryChanges {
 public:
  void Add(const Level& level);
  void Remove(const Level& level);

  /// The registries as they were read; null if one does not exist.
  struct Read {
    const Item* resources = nullptr;
    const Item* counts = nullptr;
  };
  /// Appends at most one write for each registry. A write fails if the registry has changed since
  /// the read in such a way that the write would be wrong.
  void AppendTo(const Keys& keys, const Read& read, std::vector<Write>& writes) const;

 private:
  Expression ChangeResources(const Item* read) const;
  Expression ChangeCounts(const Item* read) const;

  std::set<std::string> added_;
  std::set<std::string> removed_;
  std::map<std::string, std::int64_t> counts_;
};

}  // namespace weir::dynamo
