// Changes to a configuration, all or none.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "weir/base/result.h"
#include "weir/model/audit_event.h"
#include "weir/store/config_table.h"

namespace weir {

/// Changes a table step by step and remembers what was there; unless it is committed, it puts that
/// back at its end. Both arguments must outlive it; nobody else touches the table meanwhile.
class ConfigTransaction {
 public:
  ConfigTransaction(ConfigTable& table, const ConfigTable::HasBuckets& has_buckets)
      : table_(table), has_buckets_(has_buckets) {}
  ~ConfigTransaction();
  ConfigTransaction(const ConfigTransaction&) = delete;
  ConfigTransaction& operator=(const ConfigTransaction&) = delete;

  /// Makes the changes in order, and stops at the first that cannot be made: the error names it.
  /// `events`, where it is given, gets what the audit log says of them (config_audit.h), without
  /// ids and times; it is worth nothing after an error.
  [[nodiscard]] Status Make(std::span<const ConfigChange> changes,
                            std::vector<AuditEvent>* events = nullptr);
  void Commit() { undo_.clear(); }

 private:
  template <class Key, class Value>
  struct Old {
    Key key;
    std::optional<Value> value;
  };
  using OldLimits = Old<Level, LevelLimits>;
  using OldEntity = Old<std::string, EntityRecord>;

  Status MakeOne(const PutLimits& put);
  Status MakeOne(const DeleteLimits& change);
  Status MakeOne(const CreateEntity& create);
  Status MakeOne(const PutEntity& put);
  Status MakeOne(const DeleteEntity& change);

  std::optional<EntityRecord> EntityBefore(const ConfigChange& change) const;
  void Set(const Level& level, std::optional<LevelLimits> value);
  void Set(const std::string& id, std::optional<EntityRecord> value);

  /// kFailedPrecondition where a change closed a chain of parents.
  Status CheckParents(std::size_t count) const;
  /// The entity and its ancestors, up to one that is sound or stands in the chain already.
  std::vector<std::string> ParentsFrom(const std::string& id,
                                       const std::set<std::string>& sound) const;
  Error CycleError(std::vector<std::string> cycle, std::size_t count) const;

  ConfigTable& table_;
  const ConfigTable::HasBuckets& has_buckets_;
  std::size_t index_ = 0;                          ///< of the change that is being made
  std::map<std::string, std::size_t> set_parent_;  ///< by which change, the last one
  std::vector<std::variant<OldLimits, OldEntity>> undo_;
};

}  // namespace weir
